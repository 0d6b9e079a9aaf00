package import APIDescriptions
package import ExactJSON

extension CloudAPI {
    package static let listApplications = Self.endpoint(
        "GET /v2/applications",
        isOurs: true,
        "Lists applications.",
        gives: FieldTable<[CloudClient.Application]>(
            "Applications",
            .required("applications", \.self, .list(of: CloudClient.Application.listed.form))
        ).form
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
        gives: Self.configuration.form
    )

    package static let replaceConfiguration = Self.endpoint(
        "PUT /v2/applications/{id}/config",
        isOurs: true,
        fills: true,
        "Replaces the secure configuration of an application.",
        takes: Call.segment("id"),
        Call.body(Self.configuration.form),
        gives: Self.configuration.form
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
    }

    /// A cloud API user with its password.
    package struct User: Described, Codable, Equatable {
        package let name: String
        package let password: String

        package static let fields = FieldTable(
            "CloudUser",
            Self.init(name:password:),
            .required("username", \.name, .string),
            .required("password", \.password, .string, "The password that this server made up.")
        )

        package init(name: String, password: String) { (self.name, self.password) = (name, password) }
    }

    /// The configuration that an application keeps on its server, only for its installations.
    package static let configuration = FieldTable<[ConfigurationEntry]>(
        "SecureConfiguration",
        .required("config", \.self, .list(of: .described))
    ).refusing {
        Set($0.map { Array($0.key.utf8) }).count == $0.count ? nil : .init(member: "config", hint: "gives a key twice")
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
