import PowerAuthCrypto

/// The header that carries the signature of a request.
package struct SignatureHeader: Sendable, Equatable {
    /// The name of the header.
    package static let name = "X-PowerAuth-Authorization"

    package let activationID: String
    package let applicationKey: String
    /// 16 bytes, part of the signed data.
    package let nonce: [UInt8]
    package let type: SignatureType
    /// 16 bytes for each component.
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

    /// Reads a header.
    ///
    /// - Throws: the first field that is missing or not of its form.
    package init(parsing text: String?) throws(HeaderError) {
        let fields = HeaderFields(parsing: text)
        self.activationID = try fields.required("pa_activation_id", HeaderValue.identifier)
        self.nonce = try fields.required("pa_nonce", HeaderValue.bytes(16))
        self.applicationKey = try fields.required("pa_application_key", HeaderValue.applicationKey)
        self.type = try fields.required("pa_signature_type", SignatureType.init(headerValue:))
        self.signature = try fields.required("pa_signature") { text in
            Base64.decode(text).flatMap { [16, 32, 48].contains($0.count) ? $0 : nil }
        }
        self.version = try fields.required("pa_version", HeaderValue.version)
    }

    /// The value of the header.
    package var value: String {
        var text = HeaderText()
        text.add("pa_activation_id", self.activationID)
        text.add("pa_application_key", self.applicationKey)
        text.add("pa_nonce", self.nonce)
        text.add("pa_signature_type", self.type.rawValue)
        text.add("pa_signature", self.signature)
        text.add("pa_version", self.version.rawValue)
        return text.value
    }
}
