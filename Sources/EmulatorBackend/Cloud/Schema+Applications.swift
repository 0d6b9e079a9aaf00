import EmulatorMessages

// What the cloud API takes and gives: applications and users.

extension Schema {
    static let newCloudUser = Self.tolerant("NewCloudUser", [.required("username", .word)])

    static let cloudUser = Self.object(
        "CloudUser",
        [.required("username", .string), .required("password", .string, "What this server made up.")]
    )

    static let application = Self.object(
        "Application",
        [
            .required("appId", .string), .required("applicationKey", .base64), .required("applicationSecret", .base64),
            .required("masterServerPublicKey", .base64),
            .required("sdkConfiguration", .string, "The string that configures a client."),
        ]
    )

    static let applications = Self.object("Applications", [.required("applications", .list(of: .application))])
}
