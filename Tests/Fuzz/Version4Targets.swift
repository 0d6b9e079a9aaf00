import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// What version 4 of the protocol reads of the other side.
let version4Targets = [
    FuzzTarget("authentication-header-4") { input in
        let header = try readTwice { try Version4.AuthenticationHeader(parsing: input.text) }
        hold(try Version4.AuthenticationHeader(parsing: header.value) == header, "another header")
        hold(try Version4.requestCode(inHeader: header.value)?.version == .version4, "of another version")
    },
    FuzzTarget("token-header-4") { input in
        let header = try readTwice { try Version4.TokenHeader(parsing: input.text) }
        hold(try Version4.TokenHeader(parsing: header.value) == header, "another header")
        hold(try Version4.requestToken(inHeader: header.value)?.version == .version4, "of another version")
    },
    FuzzTarget("encryption-header-4") { input in
        for scope in [EncryptionScope.application, .activation] {
            guard let header = try? Version4.EncryptionHeader(parsing: input.text, scope: scope) else { continue }
            hold(try Version4.EncryptionHeader(parsing: header.value, scope: scope) == header, "another header")
        }
    },
    FuzzTarget("temporary-key-request-4") { input in
        let request = try Version4.TemporaryKeyRequest.Unverified(jwt: input.text)
        hold((try? request.verified(key: Fixed.secret)) == nil, "signed by nobody, and accepted")
    },
    FuzzTarget("json-web-signature") { input in
        guard let signature = JSONWebSignature(input.text) else { return }
        let keys = try Version4.SigningPrivateKeys(suite: .p384)
        hold((try? signature.verify(signedBy: keys.publicKeys)) == nil, "signed by nobody, and accepted")
    },
    FuzzTarget("encrypted-request-4") { input in
        guard let object = try JSONValue(parsing: input).object else { return }
        guard let request = object.message(Version4.EncryptedRequest.self) else { return }
        let again = try JSONValue(encoding: request).object?.message(Version4.EncryptedRequest.self)
        hold(again == request, "another request")
        _ = request.isFresh(at: FuzzServer.now.milliseconds)
    },
    FuzzTarget("new-keys-request") { input in
        guard let object = try JSONValue(parsing: input).object else { return }
        let request = try Version4.NewKeysRequest(object) { Refusal.invalidRequest($0) }
        var backend = FuzzServer.backend
        _ = try request.agree(&backend, awaitsConfirmation: true) { Refusal.invalidRequest($0) }
    },
    FuzzTarget("activation-identity") { input in
        guard let object = try JSONValue(parsing: input).object else { return }
        _ = try ActivationIdentity(object)
    },
    FuzzTarget("protocol-rules") { input in
        let change = try ControlJSON.decode(ControlAPI.ProtocolChange.self, from: input)
        hold((change.allowedSuites ?? []).count <= AlgorithmSuite.allCases.count, "suites that there are not")
    },
]
