import PowerAuthCrypto

extension Version4 {
    /// The header with a request's authentication code.
    package struct AuthenticationHeader: Sendable, Equatable {
        package static let name = "X-PowerAuth-Authorization"
        package static let nonceByteCount = 16

        package let activationID: String
        package let applicationKey: String
        /// 16 bytes, covered by the code.
        package let nonce: [UInt8]
        package let type: AuthenticationCodeType
        /// 32 bytes per factor; another number of factors is wrong, but well-formed.
        package let code: [UInt8]

        package init(
            activationID: String,
            applicationKey: String,
            nonce: [UInt8],
            type: AuthenticationCodeType,
            code: AuthenticationCode
        ) {
            self.activationID = activationID
            self.applicationKey = applicationKey
            self.nonce = nonce
            self.type = type
            self.code = code.onlineBytes
        }

        /// Parses a header; see ``init(_:)``.
        package init(parsing value: String?) throws(HeaderError) { try self.init(HeaderFields(parsing: value)) }

        /// Reads a header.
        ///
        /// - Throws: The first field that is missing, malformed, or of version 3.
        package init(_ fields: HeaderFields) throws(HeaderError) {
            _ = try fields.required("pa_version", HeaderValue.version4)
            try fields.refuse(["pa_signature_type", "pa_signature"])
            self.activationID = try fields.required("pa_activation_id", HeaderValue.identifier)
            self.applicationKey = try fields.required("pa_application_key", HeaderValue.applicationKey)
            self.nonce = try fields.required("pa_nonce", HeaderValue.bytes(Self.nonceByteCount))
            self.type = try fields.required("pa_auth_code_type", AuthenticationCodeType.init(headerValue:))
            self.code = try fields.required("pa_auth_code") { string in
                // A code with another number of factors is well-formed but wrong, and counts as a failure.
                Base64.decodeTolerantly(string).flatMap { code in
                    AuthenticationCodeType.allCases.contains { $0.codeByteCount == code.count } ? code : nil
                }
            }
        }

        package var value: String {
            var header = HeaderWriter()
            header.add("pa_version", Version4.name)
            header.add("pa_activation_id", self.activationID)
            header.add("pa_application_key", self.applicationKey)
            header.add("pa_nonce", self.nonce)
            header.add("pa_auth_code_type", self.type.rawValue)
            header.add("pa_auth_code", self.code)
            return header.value
        }
    }
}

extension HeaderFields {
    /// Throws if one of the fields is present.
    func refuse(_ names: [String]) throws(HeaderError) {
        for name in names where self[name] != nil { throw HeaderError(name, .unexpected) }
    }
}
