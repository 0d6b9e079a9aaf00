extension Version4 {
    /// The header that names the keys of an encrypted request.
    ///
    /// A request that also carries a code has none, except for the one that starts an upgrade, whose code is of version 3.
    package struct EncryptionHeader: Sendable, Equatable {
        /// The name of the header.
        package static let name = "X-PowerAuth-Encryption"

        package let applicationKey: String
        /// `nil` in the scope of an application.
        package let activationID: String?

        /// Creates a header.
        package init(applicationKey: String, activationID: String?) {
            self.applicationKey = applicationKey
            self.activationID = activationID
        }

        /// Reads the header of a request to an endpoint of the given scope.
        ///
        /// - Throws: The first field that is missing, not of its form, or there although the scope has none.
        package init(parsing value: String?, scope: EncryptionScope) throws(HeaderError) {
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

        /// The value of the header.
        package var value: String {
            var header = HeaderWriter()
            header.add("version", Version4.name)
            header.add("application_key", self.applicationKey)
            if let activationID = self.activationID { header.add("activation_id", activationID) }
            return header.value
        }
    }
}
