import APIDescriptions
import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthCrypto

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The inputs that version 4 of the protocol reads from the other side.
let version4Targets = [
    FuzzTarget("authentication-header-4") { input in
        let header = try readTwice { try Version4.AuthenticationHeader(parsing: input.text) }
        hold(try Version4.AuthenticationHeader(parsing: header.value) == header, "another header")
        hold(try Version4.requestCode(HeaderFields(parsing: header.value))?.version == .version4, "of another version")
    },
    FuzzTarget("token-header-4") { input in
        let header = try readTwice { try TokenHeader(parsing: input.text, inVersion4: true) }
        hold(try TokenHeader(parsing: header.value, inVersion4: true) == header, "another header")
        hold(try Version4.requestToken(HeaderFields(parsing: header.value))?.version == .version4, "of another version")
    },
    FuzzTarget("encryption-header-4") { input in
        for scope in [EnvelopeScope.application, .activation] {
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
    // Claims that are signed as they should be.
    FuzzTarget("temporary-key-response-4") { input in
        _ = try? Version4.TemporaryKeyResponse(
            jws: input.text,
            signedBy: Version4Fixture.keys.publicKeys,
            answering: Version4Fixture.keyRequest,
            now: 0
        )
        let response = try Version4.TemporaryKeyResponse(
            jws: JSONWebSignature.sign(input, with: Version4Fixture.keys),
            signedBy: Version4Fixture.keys.publicKeys,
            answering: Version4Fixture.keyRequest,
            now: 1_700_000_000_000
        )
        hold(response.expiresAt > 1_700_000_000_000, "expired")
    },
    // The server's half of an agreement on a key.
    FuzzTarget("shared-secret-response") { input in
        let response = try JSONDecoder().decode(Version4.SharedSecretResponse.self, from: Data(input))
        let agreement = try Version4.SharedSecretAgreement(
            suite: .p384,
            ecKey: Version4Fixture.ecKey,
            mlkemSeed: Fixed.secret
        )
        hold(try agreement.secret(from: response).count == 32, "another length")
    },
    // A status of any content with the right tag.
    FuzzTarget("status-blob-4") { input in
        _ = try? ActivationStatusBlob(input, key: Version4Fixture.secret)
        let tag = try KMAC256.authenticate(input, key: Version4Fixture.secret, customization: "PA4MAC-STATUS")
        let blob = try ActivationStatusBlob(input + tag, key: Version4Fixture.secret)
        let again = try ActivationStatusBlob(
            blob.bytes(key: Version4Fixture.secret),
            key: Version4Fixture.secret
        )
        hold(again == blob, "another blob")
        let client = Version4.HashCounter(data: Version4Fixture.secret, byte: input.last ?? 0)
        let comparison = try CounterSynchronization(client: client, status: blob, key: Version4Fixture.secret)
        hold(abs(comparison.distance) <= 255, "farther than a byte tells")
    },
    FuzzTarget("status-response-4") { input in
        let response = try JSONDecoder().decode(Version4.ActivationStatusResponse.self, from: Data(input))
        let again = try JSONDecoder().decode(
            Version4.ActivationStatusResponse.self,
            from: JSONEncoder().encode(response)
        )
        hold(again.activationStatus == response.activationStatus, "another status")
        hold(again.timestampBlockExpire == response.timestampBlockExpire, "another end of the block")
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
        let change = try ProtocolChange(json: JSONValue(parsing: input))
        hold((change.allowedSuites ?? []).count <= AlgorithmSuite.allCases.count, "suites that there are not")
    },
]

/// Keys of version 4 that are the same in every run.
private enum Version4Fixture {
    static let secret = SecretBytes(copying: [UInt8](1...32))

    static let ecKey: P384PrivateKey = {
        guard let key = try? P384PrivateKey(scalar: SecretBytes(copying: [UInt8](1...48))) else {
            fatalError("the fixed key is none")
        }
        return key
    }()

    static let keys: Version4.SigningPrivateKeys = {
        guard let keys = try? Version4.SigningPrivateKeys(suite: .p384, ecdsa: Self.ecKey, mldsaSeed: Self.secret)
        else {
            fatalError("the fixed keys are none")
        }
        return keys
    }()

    static let keyRequest: Version4.TemporaryKeyRequest = {
        guard
            let agreement = try? Version4.SharedSecretRequest(
                suite: .p384,
                encapsulationKeys: [Self.ecKey.publicKey.uncompressed]
            )
        else { fatalError("the fixed request is none") }
        return Version4.TemporaryKeyRequest(
            applicationKey: Fixed.applicationKey,
            activationID: nil,
            challenge: [UInt8](repeating: 7, count: Version4.TemporaryKeyRequest.challengeByteCount),
            sharedSecretRequest: agreement
        )
    }()
}
