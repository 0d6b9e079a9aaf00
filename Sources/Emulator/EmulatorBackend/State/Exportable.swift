package import ExactJSON
package import PowerAuthCrypto

/// A secret in the exported state. Only a development server may have this type.
package struct ExportableSecret: Sendable, Equatable, Codable {
    package var secret: SecretBytes

    package init(_ secret: SecretBytes) {
        self.secret = secret
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let secret = Base64.decodeSecret(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not Base64")
        }
        self.secret = secret
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64.encode(self.secret))
    }
}

/// JSON in the exported state, as a string: coders would change digits and the order of members.
package struct ExportableJSON: Sendable, Hashable, Codable {
    package var value: JSONValue

    package init(_ value: JSONValue) {
        self.value = value
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
            self.value = try JSONValue(parsing: try container.decode(String.self))
        } catch let error as JSONError {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: error.description)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(decoding: self.value.serialized(), as: UTF8.self))
    }
}
