/// The header with a request's signature.
package struct SignatureHeader: Sendable, Equatable {
    package static let name = "X-PowerAuth-Authorization"

    package let activationID: String
    package let applicationKey: String
    /// 16 bytes, part of the signed data.
    package let nonce: [UInt8]
    package let type: SignatureType
    /// 16 bytes per component; other bytes are wrong, but well-formed.
    package let signature: [UInt8]
    package let version: ProtocolVersion

    package init(
        activationID: String,
        applicationKey: String,
        nonce: [UInt8],
        type: SignatureType,
        signature: [UInt8],
        version: ProtocolVersion
    ) {
        self.activationID = activationID
        self.applicationKey = applicationKey
        self.nonce = nonce
        self.type = type
        self.signature = signature
        self.version = version
    }

    /// Parses a header; see ``init(_:)``.
    package init(parsing value: String?) throws(HeaderError) { try self.init(HeaderFields(parsing: value)) }

    /// Reads a header.
    ///
    /// - Throws: The first missing or malformed field.
    package init(_ fields: HeaderFields) throws(HeaderError) {
        self.activationID = try fields.required("pa_activation_id", HeaderValue.identifier)
        self.nonce = try fields.required("pa_nonce", HeaderValue.bytes(16))
        self.applicationKey = try fields.required("pa_application_key", HeaderValue.applicationKey)
        self.type = try fields.required("pa_signature_type", SignatureType.init(headerValue:))
        self.signature = try fields.required("pa_signature") { HeaderValue.code($0, lengths: [24, 44, 64]) }
        self.version = try fields.required("pa_version", HeaderValue.version3)
    }

    package var value: String {
        var header = HeaderWriter()
        header.add("pa_activation_id", self.activationID)
        header.add("pa_application_key", self.applicationKey)
        header.add("pa_nonce", self.nonce)
        header.add("pa_signature_type", self.type.rawValue)
        header.add("pa_signature", self.signature)
        header.add("pa_version", self.version.rawValue)
        return header.value
    }
}
