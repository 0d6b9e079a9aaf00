/// The header that names an encrypted request's keys. A signed request needs none, because its signature header contains the
/// same.
package struct EncryptionHeader: Sendable, Equatable {
    package static let name = "X-PowerAuth-Encryption"

    package let applicationKey: String
    /// `nil` in the application scope.
    package let activationID: String?
    package let version: ProtocolVersion

    package init(applicationKey: String, activationID: String?, version: ProtocolVersion) {
        self.applicationKey = applicationKey
        self.activationID = activationID
        self.version = version
    }

    /// Parses the header of a request to an endpoint with this scope.
    ///
    /// - Throws: The first missing, malformed or unexpected field.
    package init(parsing value: String?, scope: EnvelopeScope) throws(HeaderError) {
        let fields = HeaderFields(parsing: value)
        self.applicationKey = try fields.required("application_key", HeaderValue.applicationKey)
        switch scope {
        case .application:
            guard fields["activation_id"] == nil else { throw HeaderError("activation_id", .unexpected) }
            self.activationID = nil
        case .activation:
            self.activationID = try fields.required("activation_id", HeaderValue.identifier)
        }
        self.version = try fields.required("version", HeaderValue.version3)
    }

    package var value: String {
        var header = HeaderWriter()
        header.add("application_key", self.applicationKey)
        if let activationID = self.activationID { header.add("activation_id", activationID) }
        header.add("version", self.version.rawValue)
        return header.value
    }
}
