import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("header-parse")))
struct HeaderVectors {
    struct Input: Decodable {
        let headerType: String
        let scope: String?
        let headerValue: String?
    }

    struct Output: Decodable {
        let parsed: [String: String?]
        let valid: Bool
        let error: String?
    }

    private static let fields: [String: [String: String]] = [
        "signature": [
            "activationId": "pa_activation_id", "applicationKey": "pa_application_key", "nonce": "pa_nonce",
            "signatureType": "pa_signature_type", "signature": "pa_signature", "version": "pa_version",
        ],
        "token": [
            "tokenId": "token_id", "tokenDigest": "token_digest", "nonce": "nonce", "timestamp": "timestamp",
            "version": "version",
        ],
        "encryption": [
            "applicationKey": "application_key", "activationId": "activation_id", "version": "version",
        ],
    ]

    @Test(arguments: try Vector<Input, Output>.all(in: "header-parse"))
    func fieldsAreFoundAsTheServersFindThem(_ vector: Vector<Input, Output>) throws {
        let names = try #require(Self.fields[vector.input.headerType])
        let found = HeaderFields(parsing: vector.input.headerValue)
        for (key, value) in vector.output.parsed {
            #expect(found[try #require(names[key], "a field that is not known here: \(key)")] == value)
        }
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "header-parse"))
    func headersAreAcceptedOrRefusedForTheSameReason(_ vector: Vector<Input, Output>) throws {
        let reason = Self.reasonToBeStricter(vector)
        let isValid = vector.output.valid && reason == nil
        do throws(HeaderError) {
            try Self.parse(vector)
            #expect(isValid, "accepted, but must not be: \(reason ?? vector.output.error ?? "")")
        } catch {
            #expect(!isValid, "refused: \(error)")
            guard reason == nil else { return }
            #expect(Self.name(of: error, in: vector.input.headerType) == vector.output.error)
        }
    }

    private static func parse(_ vector: Vector<Input, Output>) throws(HeaderError) {
        let text = vector.input.headerValue
        let found = vector.output.parsed.compactMapValues(\.self)
        switch vector.input.headerType {
        case "signature":
            let header = try SignatureHeader(parsing: text)
            #expect(header.activationID == found["activationId"])
            #expect(header.applicationKey == found["applicationKey"])
            #expect(Base64.encode(header.nonce) == found["nonce"])
            #expect(header.type.rawValue == found["signatureType"]?.lowercased())
            #expect(Base64.encode(header.signature) == found["signature"])
            #expect(header.version.rawValue == found["version"])
        case "token":
            let header = try TokenHeader(parsing: text)
            #expect(header.tokenID == found["tokenId"])
            #expect(Base64.encode(header.digest) == found["tokenDigest"])
            #expect(Base64.encode(header.nonce) == found["nonce"])
            #expect(header.timestamp == found["timestamp"].flatMap { Int64($0) })
            #expect(header.version.rawValue == found["version"])
        default:
            let header = try EncryptionHeader(
                parsing: text,
                scope: vector.input.scope == "activation" ? .activation : .application
            )
            #expect(header.applicationKey == found["applicationKey"])
            #expect(header.activationID == found["activationId"])
            #expect(header.version.rawValue == found["version"])
        }
    }

    /// Returns the reason to refuse what the reference accepts.
    private static func reasonToBeStricter(_ vector: Vector<Input, Output>) -> String? {
        let found = vector.output.parsed.compactMapValues(\.self)
        if found["version"] == "3.0" { return "version 3.0 is not spoken: it encrypts with a constant vector" }
        // The reference decodes Base64 without its padding. Nonce and application key are signed or authenticated as strings,
        // so that a second spelling of the same bytes would be another request to one server and the same to another.
        for (key, count) in ["applicationKey": 16, "nonce": 16, "tokenDigest": 32] {
            if let text = found[key], Base64.decode(text)?.count != count { return "\(key) is not padded Base64" }
        }
        // The reference looks at the number of characters alone, and takes the decimal signatures of version 3.0.
        if let text = found["signature"], ![16, 32, 48].contains(Base64.decode(text)?.count) {
            return "a signature is 16 bytes for each of one to three factors"
        }
        return nil
    }

    /// The error under the reference's name.
    private static func name(of error: HeaderError, in headerType: String) -> String {
        let prefixes = [
            "pa_activation_id": "ACTIVATION_ID", "pa_application_key": "APPLICATION", "pa_nonce": "NONCE",
            "pa_signature_type": "SIGNATURE_TYPE", "pa_signature": "SIGNATURE", "pa_version": "SIGNATURE_VERSION",
            "token_id": "TOKEN_ID", "token_digest": "TOKEN_DIGEST", "application_key": "ENCRYPTION_APPLICATION_KEY",
            "activation_id": "ENCRYPTION_ACTIVATION_ID",
        ]
        let prefix = prefixes[error.field] ?? "\(headerType.uppercased())_\(error.field.uppercased())"
        let problem =
            switch (error.problem, error.field) {
            case (.missing, "activation_id"): "MISSING"
            case (.missing, _): "EMPTY"
            case (.invalid, _): "INVALID"
            case (.unexpected, _): "NOT_EXPECTED"
            }
        return "POWER_AUTH_\(prefix)_\(problem)"
    }
}
