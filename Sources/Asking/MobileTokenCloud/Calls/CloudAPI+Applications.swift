package import APIDescriptions
package import ExactJSON

extension CloudAPI {
    package static let listApplications = Self.endpoint(
        "GET /v2/applications",
        isOurs: true,
        "Lists applications.",
        gives: FieldTable<[ListedApplication]>("Applications", .required("applications", \.self, .list(of: .described)))
            .form
    )

    package static let createUser = Self.endpoint(
        "POST /admin/users",
        fills: true,
        "Creates a user of the cloud API.",
        takes: Call.body(FieldTable<String>("NewCloudUser", .required("username", \.self, .word)).tolerant.form),
        gives: User.form
    )

    package static let showConfiguration = Self.endpoint(
        "GET /v2/applications/{id}/config",
        isOurs: true,
        "Shows the secure configuration of an application.",
        takes: Call.segment("id"),
        gives: SecureConfiguration.form
    )

    package static let replaceConfiguration = Self.endpoint(
        "PUT /v2/applications/{id}/config",
        isOurs: true,
        fills: true,
        "Replaces the secure configuration of an application.",
        takes: Call.segment("id"),
        Call.body(SecureConfiguration.form),
        gives: SecureConfiguration.form
    )

    package static let createApplication = Self.endpoint(
        "POST /admin/applications",
        fills: true,
        "Creates an application.",
        takes: Call.body(NewApplication.form),
        gives: CloudClient.Application.form
    )

    package static let showApplication = Self.endpoint(
        "GET /admin/applications/{id}",
        "Shows an application.",
        takes: Call.segment("id"),
        gives: CloudClient.Application.form
    )

    /// A bank's request for an application.
    package struct NewApplication: Described {
        package var id: String
        package var roles: [String]?

        package static let fields = FieldTable(
            "NewApplication",
            Self.init(id:roles:),
            .required("id", \.id, .word),
            .optional("roles", \.roles, .list(of: .string), "The names by which the bank knows it.")
        ).tolerant

        package init(id: String, roles: [String]?) { (self.id, self.roles) = (id, roles) }
    }

    /// A cloud API user with its password.
    package struct User: Described {
        package var name: String
        package var password: String

        package static let fields = FieldTable(
            "CloudUser",
            Self.init(name:password:),
            .required("username", \.name, .string),
            .required("password", \.password, .string, "The password that this server made up.")
        )

        package init(name: String, password: String) { (self.name, self.password) = (name, password) }
    }

    /// An application with its client configuration.
    package struct ListedApplication: Described {
        package var id: String
        package var key: String
        package var secret: String
        package var masterPublicKey: String
        package var sdkConfiguration: String

        package static let fields = FieldTable(
            "Application",
            Self.init(id:key:secret:masterPublicKey:sdkConfiguration:),
            .required("appId", \.id, .string),
            .required("applicationKey", \.key, .base64),
            .required("applicationSecret", \.secret, .base64),
            .required("masterServerPublicKey", \.masterPublicKey, .base64),
            .required("sdkConfiguration", \.sdkConfiguration, .string, "The string that configures a client.")
        )

        package init(id: String, key: String, secret: String, masterPublicKey: String, sdkConfiguration: String) {
            (self.id, self.key, self.secret) = (id, key, secret)
            (self.masterPublicKey, self.sdkConfiguration) = (masterPublicKey, sdkConfiguration)
        }
    }

    /// The configuration that an application keeps on its server, only for its installations.
    package struct SecureConfiguration: Described {
        package var entries: [ConfigurationEntry]

        package static let fields = FieldTable(
            "SecureConfiguration",
            Self.init(entries:),
            .required("config", \.entries, .list(of: .described))
        ).refusing {
            Set($0.entries.map { Array($0.key.utf8) }).count == $0.entries.count
                ? nil : .init(member: "config", hint: "gives a key twice")
        }

        package init(entries: [ConfigurationEntry]) { self.entries = entries }
    }

    package struct ConfigurationEntry: Described, Codable, Equatable {
        /// The readers of an entry.
        package enum Scope: String, Sendable, Codable, CaseIterable {
            /// Every installation of the application.
            case application = "APPLICATION"
            /// Only activated installations.
            case activation = "ACTIVATION"
        }

        package let key: String
        package let value: JSONValue
        package let scope: Scope

        package static let fields = FieldTable(
            "ConfigurationEntry",
            Self.init(key:value:scope:),
            .required("key", \.key, .word),
            .required("value", \.value, .json(.anything), "Any JSON."),
            .required("scope", \.scope, .cases(), "The devices that may read it.")
        )

        package init(key: String, value: JSONValue, scope: Scope) {
            (self.key, self.value, self.scope) = (key, value, scope)
        }
    }
}
