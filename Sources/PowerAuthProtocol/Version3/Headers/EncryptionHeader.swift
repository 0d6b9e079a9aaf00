/// The header that names the keys of an encrypted request.
///
/// A request that is also signed has none, since its signature header says the same.
package struct EncryptionHeader: Sendable, Equatable {
    /// The name of the header.
    package static let name = "X-PowerAuth-Encryption"

    package let applicationKey: String
    /// `nil` in the scope of an application.
    package let activationID: String?
    package let version: ProtocolVersion

    /// Creates a header.
    package init(applicationKey: String, activationID: String?, version: ProtocolVersion) {
        self.applicationKey = applicationKey
        self.activationID = activationID
        self.version = version
    }

    /// Reads the header of a request to an endpoint of the given scope.
    ///
    /// - Throws: The first field that is missing, not of its form, or there although the scope has none.
    package init(parsing value: String?, scope: EncryptionScope) throws(HeaderError) {
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

    /// The value of the header.
    package var value: String {
        var header = HeaderWriter()
        header.add("application_key", self.applicationKey)
        if let activationID = self.activationID { header.add("activation_id", activationID) }
        header.add("version", self.version.rawValue)
        return header.value
    }
}
