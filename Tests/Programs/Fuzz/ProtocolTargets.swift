import Basics
import EmulatorBackend
import ExactJSON
import Foundation
import MobileToken
import PowerAuth

@testable import HTTPClientTransport

let protocolTargets = [
    FuzzTarget("activation-code") { input in
        let code = try readTwice { try ActivationCode(parsing: input.text) }
        hold(code.qrCodeContent == input.text, "two texts for one code")
    },
    FuzzTarget("sdk-configuration") { input in
        let configuration = try readTwice { try SDKConfiguration(parsing: input.text) }
        hold(try SDKConfiguration(parsing: configuration.string) == configuration, "another configuration")
    },
    FuzzTarget("signature-header") { input in
        let header = try readTwice { try SignatureHeader(parsing: input.text) }
        hold(try SignatureHeader(parsing: header.value) == header, "another header")
    },
    FuzzTarget("token-header") { input in
        let header = try readTwice { try TokenHeader(parsing: input.text) }
        hold(try TokenHeader(parsing: header.value) == header, "another header")
        _ = header.isValid(secret: Fixed.secret)
    },
    FuzzTarget("encryption-header") { input in
        for scope in [EnvelopeScope.application, .activation] {
            guard let header = try? EncryptionHeader(parsing: input.text, scope: scope) else { continue }
            hold(try EncryptionHeader(parsing: header.value, scope: scope) == header, "another header")
        }
    },
    FuzzTarget("canonical-query") { input in
        let text = try readTwice { try CanonicalQuery.string(of: input.text) }
        hold(try CanonicalQuery.string(of: text) == text, "not canonical")
    },
    FuzzTarget("jwt") { input in
        _ = try? TemporaryKeyRequest.Unverified(jwt: input.text).verified(
            applicationSecret: Fixed.applicationSecret,
            transportKey: nil
        )
        _ = try? TemporaryKeyResponse(
            jwt: input.text,
            signedBy: Fixed.key.publicKey,
            answering: Fixed.keyRequest,
            now: 0
        )
        if let token = JSONWebToken(input.text) { hold(!token.signature.isEmpty, "no signature") }
    },
    // Claims that are signed as they should be.
    FuzzTarget("jwt-claims") { input in
        let header = Base64URL.encode(Array(#"{"alg":"ES256"}"#.utf8))
        let signed = header + "." + Base64URL.encode(input)
        let signature = try Fixed.key.rawSignature(for: Array(signed.utf8))
        let jwt = signed + "." + Base64URL.encode(signature)
        let response = try readTwice {
            try TemporaryKeyResponse(
                jwt: jwt,
                signedBy: Fixed.key.publicKey,
                answering: Fixed.keyRequest,
                now: 1_700_000_000_000
            )
        }
        hold(response.expiresAt > 1_700_000_000_000, "expired")
    },
    FuzzTarget("status-blob") { input in
        var reader = InputReader(input)
        let (challenge, nonce) = (reader.bytes(16), reader.bytes(16))
        _ = try? ActivationStatusBlob(
            decrypting: input,
            transportKey: Fixed.secret,
            challenge: challenge,
            nonce: nonce
        )
        let blob = try readTwice { try ActivationStatusBlob(bytes: input) }
        hold(blob.bytes.count == ActivationStatusBlob.byteCount, "another length")
        hold(try ActivationStatusBlob(bytes: blob.bytes) == blob, "another blob")
        let client = HashCounter(data: Fixed.secret, byte: input.last ?? 0)
        let comparison = try CounterSynchronization(
            client: client,
            status: blob,
            key: HashCounter.hashKey(transportKey: Fixed.secret)
        )
        hold(abs(comparison.distance) <= 255, "farther than a byte tells")
    },
    FuzzTarget("ecies-request") { input in
        guard let request = try? JSONDecoder().decode(ECIESRequest.self, from: Data(input)) else { return }
        for version in ProtocolVersion.version3 {
            var decryptor = ECIESServerExchange(parameters: Fixed.parameters(version), privateKey: Fixed.key)
            _ = try? decryptor.decryptRequest(request)
        }
    },
    FuzzTarget("ecies-response") { input in
        let response = try JSONDecoder().decode(ECIESResponse.self, from: Data(input))
        for version in ProtocolVersion.version3 {
            var encryptor = ECIESClientExchange(parameters: Fixed.parameters(version), recipient: Fixed.key.publicKey)
            _ = try encryptor.encryptRequest([], ephemeralKey: Fixed.key, nonce: Fixed.nonce, timestamp: 1)
            _ = try? encryptor.decryptResponse(response)
        }
    },
    // Any plaintext goes there and back.
    FuzzTarget("ecies-round-trip") { input in
        var encryptor = ECIESClientExchange(parameters: Fixed.parameters(.v3_3), recipient: Fixed.key.publicKey)
        var decryptor = ECIESServerExchange(parameters: Fixed.parameters(.v3_3), privateKey: Fixed.key)
        let request = try encryptor.encryptRequest(input, ephemeralKey: Fixed.key, nonce: Fixed.nonce, timestamp: 1)
        hold(try decryptor.decryptRequest(request) == input, "another request")
        let response = try decryptor.encryptResponse(input, nonce: Fixed.nonce, timestamp: 2)
        hold(try encryptor.decryptResponse(response) == input, "another response")
    },
    FuzzTarget("base64") { input in
        if let bytes = Base64.decode(input.text) { hold(Base64.encode(bytes) == input.text, "two texts") }
        if let bytes = Base64URL.decode(input.text) { hold(Base64URL.encode(bytes) == input.text, "two texts") }
        hold(Base64.decode(Base64.encode(input)) == input, "other bytes")
        hold(Base64URL.decode(Base64URL.encode(input)) == input, "other bytes")
    },
    FuzzTarget("keys") { input in
        if let point = try? P256PublicKey(x963: input) {
            hold([point.compressed, point.uncompressed].contains(input), "two forms of one key")
        }
        if let raw = try? ECDSASignature.raw(fromDER: input) {
            hold(try ECDSASignature.der(fromRaw: raw) == input, "two forms of one signature")
        }
        _ = Fixed.key.publicKey.isValid(derSignature: input, for: [1])
        _ = Fixed.key.publicKey.isValid(rawSignature: input, for: [1])
    },
    FuzzTarget("server-answer") { input in
        var reader = InputReader(input)
        let status = 100 + Int(reader.byte()) * 2
        let retryAfter = reader.line()
        let response = HTTPResponse(status: status, headers: ["Retry-After": retryAfter], body: Array(reader.rest))
        do throws(MobileTokenError) {
            let body = try ResponseEnvelope.body(
                of: response,
                to: "/api/signed",
                now: Date(timeIntervalSince1970: 1_700_000_000)
            )
            hold(body == response.body, "another body")
            hold((200..<300).contains(status), "an error taken for a success")
        } catch {
            hold(error.retryAfter.map { (.zero...RetryAfter.longest).contains($0) } ?? true, "out of range")
            hold(!error.description.isEmpty, "no description")
        }
    },
    FuzzTarget("retry-after") { input in
        for now in [0, 1_700_000_000, 1e300, -1e300, .infinity, .nan] {
            guard let wait = RetryAfter.duration(input.text, now: Date(timeIntervalSince1970: now)) else { continue }
            hold((.zero...RetryAfter.longest).contains(wait), "out of range")
        }
    },
    FuzzTarget("accept-language") { input in
        let language = try readTwice { try MobileTokenClient.AcceptLanguage(input.text) }
        hold(language.description.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "no header can hold it")
    },
    FuzzTarget("base-url") { input in
        let rule = BaseURLRule(allowsInsecureHTTP: false, requiresTLS: false)
        let url = try readTwice { try rule.configured(input.text, "url") }
        hold(try rule.configured(url, "url") == url, "another address")
        guard let components = URLComponents(string: url + "/pa/v3/status"), let host = components.host else {
            return hold(false, "no address to send to")
        }
        hold(components.scheme?.lowercased() == "https" || BaseURLRule.isLoopback(host), "open on the way")
        hold(components.query == nil && components.fragment == nil && components.user == nil, "more than an address")
    },
    FuzzTarget("display-text") { input in
        let shown = DisplayText.escaped(input.text, limit: 64)
        hold(!shown.unicodeScalars.contains(where: DisplayText.isUnsafe), "something that is not seen")
        hold(shown.unicodeScalars.count <= 64 * 10 + 32, "longer than the limit")
        guard let value = try? JSONValue(parsing: input) else { return }
        let json = DisplayText.escaped(json: value.serialized().text)
        hold(!json.unicodeScalars.contains(where: DisplayText.isUnsafe), "JSON that is not seen")
        hold(try JSONValue(parsing: json) == value, "other JSON")
    },
    FuzzTarget("http-head") { input in
        var collector = ResponseCollector(maximumHeaderSize: 4_096, maximumBodySize: 64)
        var reader = InputReader(input)
        while !reader.rest.isEmpty {
            let line = Array((reader.line() + "\n").utf8)
            guard line.withUnsafeBytes({ collector.appendHeaderLine($0) }) else { break }
        }
        _ = input.withUnsafeBytes { collector.appendBody($0) }
        guard let response = collector.response() else { return }
        hold(response.body.count <= 64, "longer than allowed")
        hold((200...999).contains(response.status), "no status")
    },
]

/// Keys that are the same in every run, so that a corpus keeps its meaning.
enum Fixed {
    static let secret = SecretBytes(copying: [UInt8](1...16))
    static let nonce = [UInt8](16...31)

    static let key: P256PrivateKey = {
        guard let key = try? P256PrivateKey(scalar: SecretBytes(copying: [UInt8](1...32))) else {
            fatalError("the fixed key is none")
        }
        return key
    }()

    static let applicationSecret: ApplicationSecret = {
        guard let secret = ApplicationSecret(bytes: Self.secret) else { fatalError("the fixed secret is none") }
        return secret
    }()

    static let applicationKey = Base64.encode(Self.nonce)

    static let keyRequest = TemporaryKeyRequest(
        applicationKey: Self.applicationKey,
        activationID: nil,
        challenge: [UInt8](repeating: 7, count: TemporaryKeyRequest.challengeByteCount)
    )

    static func parameters(_ version: ProtocolVersion) -> ECIESParameters {
        ECIESParameters(
            version: version,
            applicationKey: Self.applicationKey,
            applicationSecret: Self.applicationSecret,
            scope: .application,
            purpose: .genericApplication,
            temporaryKeyID: "key"
        )
    }
}
