import APIDescriptions
import EmulatorHTTP

/// The configuration of a client.
struct ServerConfiguration: Described {
    var baseURL: String
    var sdkConfiguration: String
    var applicationID: String
    var applicationKey: String
    var applicationSecret: String
    var masterServerPublicKey: String
    var cloudUser: String
    var cloudPassword: String
    /// The certificate in PEM, when the server speaks TLS; and the pin of its key.
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

/// The access that a request shows.
struct ShownAccess: Described {
    var isAuthenticated: Bool

    static let fields = FieldTable(
        "Access",
        Self.init(isAuthenticated:),
        .required("isAuthenticated", \.isAuthenticated, .boolean)
    )
}
