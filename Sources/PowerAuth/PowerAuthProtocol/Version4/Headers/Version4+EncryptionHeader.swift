extension Version4 {
    /// The header that names an encrypted request's keys. A request with a code needs none, except the start of an upgrade, which
    /// has a version 3 code.
    package struct EncryptionHeader: Sendable, Equatable {
        package static let name = "X-PowerAuth-Encryption"

        package let applicationKey: String
        /// `nil` in the application scope.
        package let activationID: String?

        package init(applicationKey: String, activationID: String?) {
            self.applicationKey = applicationKey
            self.activationID = activationID
        }

        /// Parses the header of a request to an endpoint with this scope.
        ///
        /// - Throws: The first missing, malformed or unexpected field.
        package init(parsing value: String?, scope: EnvelopeScope) throws(HeaderError) {
            let fields = HeaderFields(parsing: value)
            _ = try fields.required("version", HeaderValue.version4)
            self.applicationKey = try fields.required("application_key", HeaderValue.applicationKey)
            switch scope {
            case .application:
                try fields.refuse(["activation_id"])
                self.activationID = nil
            case .activation:
                self.activationID = try fields.required("activation_id", HeaderValue.identifier)
            }
        }

        package var value: String {
            var header = HeaderWriter()
            header.add("version", Version4.name)
            header.add("application_key", self.applicationKey)
            if let activationID = self.activationID { header.add("activation_id", activationID) }
            return header.value
        }
    }
}
