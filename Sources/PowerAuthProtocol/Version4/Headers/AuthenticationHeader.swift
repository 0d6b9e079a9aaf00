import Basics
import PowerAuthCrypto

extension Version4 {
    /// The header that carries the authentication code of a request.
    package struct AuthenticationHeader: Sendable, Equatable {
        /// The name of the header.
        package static let name = "X-PowerAuth-Authorization"
        /// The length of a nonce.
        package static let nonceByteCount = 16

        package let activationID: String
        package let applicationKey: String
        /// 16 bytes, part of the data that the code covers.
        package let nonce: [UInt8]
        package let type: AuthenticationCodeType
        /// 32 bytes for each factor.
        package let code: [UInt8]

        /// Creates a header.
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

        /// Reads a header.
        ///
        /// - Throws: The first field that is missing, not of its form, or of version 3.
        package init(parsing value: String?) throws(HeaderError) {
            let fields = HeaderFields(parsing: value)
            _ = try fields.required("pa_version", HeaderValue.version4)
            try fields.refuse(["pa_signature_type", "pa_signature"])
            self.activationID = try fields.required("pa_activation_id", HeaderValue.identifier)
            self.applicationKey = try fields.required("pa_application_key", HeaderValue.applicationKey)
            self.nonce = try fields.required("pa_nonce", HeaderValue.bytes(Self.nonceByteCount))
            let type = try fields.required("pa_auth_code_type", AuthenticationCodeType.init(rawValue:))
            self.type = type
            self.code = try fields.required("pa_auth_code", HeaderValue.bytes(type.codeByteCount))
        }

        /// The value of the header.
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
    /// Throws if there is one of the fields that do not belong here.
    func refuse(_ names: [String]) throws(HeaderError) {
        for name in names where self[name] != nil { throw HeaderError(name, .unexpected) }
    }
}
