import APIDescriptions
import EmulatorBackend
import EmulatorHTTP

extension FieldTable {
    /// The table of what this server only shows: nothing reads it back, so it needs no value of its own members.
    init<each Member: Sendable>(showing name: String, _ fields: repeat Field<Root, each Member>) {
        self.init(
            name,
            { (_: repeat each Member) throws(Schema.Objection) -> Root in
                throw Schema.Objection(member: "", hint: "is only shown")
            },
            repeat each fields
        )
    }
}

/// The configuration for a client.
struct ServerConfiguration: Described {
    let application: ApplicationDescription
    let server: Emulator.Configuration
    let address: ServerAddress
    /// The certificate that clients must trust, if the server uses TLS.
    let certificate: Emulator.Certificate?

    private var baseURL: String { self.address.origin + "/enrollment-server" }
    private var cloudPassword: String { self.server.cloudPassword ?? "" }
    private var pem: String? { self.certificate?.pem }
    private var publicKeyPin: String? { self.certificate?.publicKeyPin }

    static let fields = FieldTable<Self>(
        showing: "Configuration",
        .required("baseURL", \.baseURL, .string),
        .required("sdkConfiguration", \.application.sdkConfiguration, .string),
        .required("applicationId", \.application.id, .string),
        .required("applicationKey", \.application.key, .base64),
        .required("applicationSecret", \.application.secret, .base64),
        .required("masterServerPublicKey", \.application.masterServerPublicKey, .base64),
        .required("cloudUser", \.server.cloudUser, .string),
        .required("cloudPassword", \.cloudPassword, .string),
        .optional("certificate", \.pem, .string),
        .optional("publicKeyPin", \.publicKeyPin, .string)
    )
}

/// The access level of a request.
struct ShownAccess: Described {
    var isAuthenticated: Bool
    var user: String?
    var applications: [String]

    static let fields = FieldTable(
        "Access",
        Self.init(isAuthenticated:user:applications:),
        .required("isAuthenticated", \.isAuthenticated, .boolean),
        .optional("user", \.user, .string, "The name of the user whom the server knows."),
        .required("applications", \.applications, .list(of: .string), "The applications, the server's own first.")
    )
}
