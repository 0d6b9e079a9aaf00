/// The header that tells the server how to open an encrypted request.
///
/// A request that is also signed carries none: its signature header says as much.
package struct EncryptionHeader: Sendable, Equatable {
    /// The name of the header.
    package static let name = "X-PowerAuth-Encryption"

    /// Whether a request belongs to an application or to one activation of it.
    package enum Scope: String, Sendable {
        case application
        case activation
    }

    package let applicationKey: String
    /// `nil` in the scope of an application.
    package let activationID: String?
    package let version: ProtocolVersion

    package init(applicationKey: String, activationID: String?, version: ProtocolVersion) {
        self.applicationKey = applicationKey
        self.activationID = activationID
        self.version = version
    }

    /// Reads the header of a request in the scope that the endpoint has.
    ///
    /// - Throws: the first field that is missing, not of its form, or there although the scope has none.
    package init(parsing text: String?, scope: Scope) throws(HeaderError) {
        let fields = HeaderFields(parsing: text)
        self.applicationKey = try fields.required("application_key", HeaderValue.applicationKey)
        switch scope {
        case .application:
            guard fields["activation_id"] == nil else { throw HeaderError("activation_id", .unexpected) }
            self.activationID = nil
        case .activation:
            self.activationID = try fields.required("activation_id", HeaderValue.identifier)
        }
        self.version = try fields.required("version", HeaderValue.version)
    }

    /// The value of the header.
    package var value: String {
        var text = HeaderText()
        text.add("application_key", self.applicationKey)
        if let activationID = self.activationID { text.add("activation_id", activationID) }
        text.add("version", self.version.rawValue)
        return text.value
    }
}
