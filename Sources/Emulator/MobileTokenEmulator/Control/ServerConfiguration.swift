import APIDescriptions
import EmulatorHTTP

/// The configuration for a client.
struct ServerConfiguration: Described {
    var baseURL: String
    var sdkConfiguration: String
    var applicationID: String
    var applicationKey: String
    var applicationSecret: String
    var masterServerPublicKey: String
    var cloudUser: String
    var cloudPassword: String
    /// The PEM certificate and its key's pin, if the server uses TLS.
    var certificate: String?
    var publicKeyPin: String?

    static let fields = FieldTable(
        "Configuration",
        Self.init,
        .required("baseURL", \.baseURL, .string),
        .required("sdkConfiguration", \.sdkConfiguration, .string),
        .required("applicationId", \.applicationID, .string),
        .required("applicationKey", \.applicationKey, .base64),
        .required("applicationSecret", \.applicationSecret, .base64),
        .required("masterServerPublicKey", \.masterServerPublicKey, .base64),
        .required("cloudUser", \.cloudUser, .string),
        .required("cloudPassword", \.cloudPassword, .string),
        .optional("certificate", \.certificate, .string),
        .optional("publicKeyPin", \.publicKeyPin, .string)
    )
}

extension ServerConfiguration {
    init(_ core: EmulatorCore, _ address: ServerAddress, _ certificate: Emulator.Certificate?) {
        let application = core.application
        self.init(
            baseURL: address.origin + "/enrollment-server",
            sdkConfiguration: application.sdkConfiguration,
            applicationID: application.id,
            applicationKey: application.key,
            applicationSecret: application.secret,
            masterServerPublicKey: application.masterServerPublicKey,
            cloudUser: core.configuration.cloudUser,
            cloudPassword: core.configuration.cloudPassword ?? "",
            certificate: certificate?.pem,
            publicKeyPin: certificate?.publicKeyPin
        )
    }
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
