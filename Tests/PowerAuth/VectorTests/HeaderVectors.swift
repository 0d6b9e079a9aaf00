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
            #expect(header.nonce == found["nonce"].flatMap(Base64.decodeTolerantly))
            #expect(header.type.rawValue == found["signatureType"]?.lowercased())
            // Digits and hyphens are a code of version 3.0, which is compared as it is.
            let signature = found["signature"] ?? ""
            let isDecimal = signature.allSatisfy { $0.isNumber || $0 == "-" }
            #expect(header.signature == (isDecimal ? Array(signature.utf8) : Base64.decodeTolerantly(signature)))
            #expect(header.version.rawValue == found["version"])
        case "token":
            let header = try TokenHeader(parsing: text)
            #expect(header.tokenID == found["tokenId"])
            #expect(header.digest == found["tokenDigest"].flatMap(Base64.decodeTolerantly))
            #expect(header.nonce == found["nonce"].flatMap(Base64.decodeTolerantly))
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
        guard vector.output.parsed["version"] == "3.0" else { return nil }
        return "version 3.0 is not spoken: it encrypts with a constant vector"
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
