package import APIDescriptions

extension CloudAPI {
    package static let listCallbacks = Self.endpoint(
        "GET /v2/callbacks",
        isOurs: true,
        "Lists callbacks.",
        gives: FieldTable<[Callback]>("Callbacks", .required("callbacks", \.self, .list(of: .described))).form
    )

    package static let createCallback = Self.endpoint(
        "POST /v2/callbacks",
        isOurs: true,
        fills: true,
        "Creates a callback: an address that is told when operations or activations change.",
        takes: Call.body(NewCallback.form),
        gives: Callback.form
    )

    package static let removeCallback = Self.endpoint(
        "DELETE /v2/callbacks/{id}",
        isOurs: true,
        "Removes a callback.",
        takes: Call.segment("id"),
        gives: Form.done
    )

    package static let showCallback = Self.endpoint(
        "GET /v2/callbacks/{id}",
        isOurs: true,
        "Shows a callback.",
        takes: Call.segment("id"),
        gives: Callback.form
    )

    package static let replaceCallback = Self.endpoint(
        "PUT /v2/callbacks/{id}",
        isOurs: true,
        fills: true,
        "Replaces a callback.",
        takes: Call.segment("id"),
        Call.body(NewCallback.form),
        gives: Callback.form
    )
}

/// The changes that a callback reports.
package enum CallbackKind: String, Sendable, Codable, CaseIterable {
    case operation = "OPERATION"
    case activation = "ACTIVATION"

    /// The names of the kind at registration: in real servers, in PowerAuth Cloud, and in this server, which uses those in the
    /// bodies.
    package static let names: [(name: String, kind: Self)] = [
        ("OPERATION", .operation), ("OPERATION_STATUS_CHANGE", .operation), ("ACTIVATION", .activation),
        ("ACTIVATION_STATUS_CHANGE", .activation), ("REGISTRATION_STATUS_CHANGE", .activation),
    ]

    /// Finds a kind by one of its names.
    package init?(name: String) {
        guard let known = Self.names.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else { return nil }
        self = known.kind
    }

    /// The optional attributes of a callback, with real servers' names.
    package var attributes: [String] {
        switch self {
        case .operation:
            [
                "userId", "applications", "operationType", "parameters", "additionalData", "activationFlag", "status",
                "data", "failureCount", "maxFailureCount", "signatureType", "externalId", "timestampCreated",
                "timestampExpires", "timestampFinalized",
            ]
        case .activation:
            [
                "userId", "activationName", "deviceInfo", "platform", "protocol", "activationFlags",
                "activationStatus", "blockedReason", "applicationId",
            ]
        }
    }

    fileprivate static var allAttributes: [String] {
        Self.allCases.flatMap(\.attributes).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    fileprivate static var name: Form<String> { .string(oneOf: Self.names.map(\.name)) }
}

extension CloudAPI {
    /// A bank's request for a callback.
    package struct NewCallback: Described {
        package var name: String
        package var applicationID: String?
        /// One of the names of its kind.
        package var type: String
        package var url: String
        package var attributes: [String] = []
        package var authentication: NewCallbackAuthentication?
        package var maximumAttempts = 1

        package static let fields = FieldTable(
            "NewCallback",
            Self.init,
            .required("name", \.name, .word),
            .optional("appId", \.applicationID, .string, "The application; the server's own if left out."),
            .required("type", \.type, CallbackKind.name, "The subject of its messages: operations or activations."),
            .required("callbackUrl", \.url, .word, "The address that is called, of http or https."),
            .preset(
                "attributes",
                \.attributes,
                .list(of: .string(oneOf: CallbackKind.allAttributes)),
                or: [],
                "The members that a message has beside the type and the identifier; each type has its own."
            ),
            .optional("authentication", \.authentication, .described),
            .preset(
                "maxAttempts",
                \.maximumAttempts,
                .integer(1...100),
                or: 1,
                "The number of attempts at one delivery; 1 by default."
            )
        ).refusing { callback in
            guard let kind = CallbackKind(name: callback.type),
                !callback.attributes.allSatisfy(kind.attributes.contains)
            else { return nil }
            let known = kind.attributes.joined(separator: ", ")
            return .init(member: "attributes", hint: "of \(kind.rawValue) are \(known)")
        }

        package init(
            name: String,
            applicationID: String? = nil,
            type: String,
            url: String,
            attributes: [String] = [],
            authentication: NewCallbackAuthentication? = nil,
            maximumAttempts: Int = 1
        ) {
            (self.name, self.applicationID, self.type, self.url) = (name, applicationID, type, url)
            (self.attributes, self.authentication) = (attributes, authentication)
            self.maximumAttempts = maximumAttempts
        }
    }

    /// The authentication methods of a new callback. A disabled one counts as absent.
    package struct NewCallbackAuthentication: Described {
        package var basic: Basic?
        package var oauth: OAuth?
        package var certificate: Certificate?

        package static let fields = FieldTable(
            "NewCallbackAuthentication",
            Self.init(basic:oauth:certificate:),
            .optional("httpBasic", \.basic, Basic.fields.inlined),
            .optional(
                "oAuth2",
                \.oauth,
                OAuth.fields.inlined,
                "A token is fetched with the client's own credentials, kept until it expires, and fetched anew after a 401."
            ),
            .optional(
                "certificate",
                \.certificate,
                Certificate.fields.inlined,
                "For an address of https whose server asks for a certificate."
            )
        ).refusing {
            $0.basic?.isEnabled == true && $0.oauth?.isEnabled == true
                ? .init(member: "", hint: "is either Basic or OAuth 2.0") : nil
        }

        package init(basic: Basic? = nil, oauth: OAuth? = nil, certificate: Certificate? = nil) {
            (self.basic, self.oauth, self.certificate) = (basic, oauth, certificate)
        }

        package struct Basic: Described {
            package var isEnabled = true
            package var user: String
            package var password: String

            package static let fields = FieldTable(
                "HTTPBasic",
                Self.init,
                .enabled(\.isEnabled),
                .required("username", \.user, .word),
                .required("password", \.password, .word)
            )

            package init(isEnabled: Bool = true, user: String, password: String) {
                (self.isEnabled, self.user, self.password) = (isEnabled, user, password)
            }
        }

        package struct OAuth: Described {
            package var isEnabled = true
            package var tokenURL: String
            package var clientID: String
            package var clientSecret: String
            package var scope: String?

            package static let fields = FieldTable(
                "OAuth2",
                Self.init,
                .enabled(\.isEnabled),
                .required("tokenUri", \.tokenURL, .word, "The address that gives access tokens."),
                .required("clientId", \.clientID, .word),
                .required("clientSecret", \.clientSecret, .word),
                .optional("scope", \.scope, .string)
            )

            package init(
                isEnabled: Bool = true,
                tokenURL: String,
                clientID: String,
                clientSecret: String,
                scope: String? = nil
            ) {
                (self.isEnabled, self.tokenURL, self.clientID) = (isEnabled, tokenURL, clientID)
                (self.clientSecret, self.scope) = (clientSecret, scope)
            }
        }

        package struct Certificate: Described {
            package var isEnabled = true
            package var certificate: String
            package var privateKey: String
            package var privateKeyPassword: String?
            package var trustedCertificates: String?

            package static let fields = FieldTable(
                "ClientCertificate",
                Self.init,
                .enabled(\.isEnabled),
                .required("certificate", \.certificate, .word, "The certificate in PEM, with any intermediate ones."),
                .required("privateKey", \.privateKey, .word, "The key in PEM."),
                .optional("privateKeyPassword", \.privateKeyPassword, .string),
                .optional(
                    "trustedCertificates",
                    \.trustedCertificates,
                    .string,
                    "The authorities that vouch for the bank, in PEM; the system's by default."
                )
            )

            package init(
                isEnabled: Bool = true,
                certificate: String,
                privateKey: String,
                privateKeyPassword: String? = nil,
                trustedCertificates: String? = nil
            ) {
                (self.isEnabled, self.certificate, self.privateKey) = (isEnabled, certificate, privateKey)
                (self.privateKeyPassword, self.trustedCertificates) = (privateKeyPassword, trustedCertificates)
            }
        }
    }

    /// A callback, without its secrets.
    package struct Callback: Described {
        package var id: String
        package var name: String
        package var applicationID: String
        package var type: String
        package var url: String
        package var attributes: [String]
        package var maximumAttempts: Int
        package var authentication: CallbackAuthentication?

        package static let fields = FieldTable(
            "Callback",
            Self.init,
            .required("callbackId", \.id, .string),
            .required("name", \.name, .string),
            .required("appId", \.applicationID, .string),
            .required("type", \.type, CallbackKind.name),
            .required("callbackUrl", \.url, .string),
            .required("attributes", \.attributes, .list(of: .string)),
            .required("maxAttempts", \.maximumAttempts, .count),
            .optional("authentication", \.authentication, .described, "The authentication, without the secrets.")
        )

        package init(
            id: String,
            name: String,
            applicationID: String,
            type: String,
            url: String,
            attributes: [String],
            maximumAttempts: Int,
            authentication: CallbackAuthentication?
        ) {
            (self.id, self.name, self.applicationID, self.type) = (id, name, applicationID, type)
            (self.url, self.attributes, self.maximumAttempts) = (url, attributes, maximumAttempts)
            self.authentication = authentication
        }
    }

    /// The authentication methods of a callback, without the secrets.
    package struct CallbackAuthentication: Described {
        /// The user of Basic authentication.
        package var basic: String?
        package var oauth: OAuth?
        package var certificate: Certificate?

        package static let fields = FieldTable(
            "CallbackAuthentication",
            Self.init(basic:oauth:certificate:),
            .optional(
                "httpBasic",
                \.basic,
                FieldTable("ShownHTTPBasic", .required("username", \.self, .string)).inlined
            ),
            .optional("oAuth2", \.oauth, OAuth.fields.inlined),
            .optional("certificate", \.certificate, Certificate.fields.inlined)
        )

        package init(basic: String?, oauth: OAuth?, certificate: Certificate?) {
            (self.basic, self.oauth, self.certificate) = (basic, oauth, certificate)
        }

        package struct OAuth: Described {
            package var tokenURL: String
            package var clientID: String
            package var scope: String?

            package static let fields = FieldTable(
                "ShownOAuth2",
                Self.init(tokenURL:clientID:scope:),
                .required("tokenUri", \.tokenURL, .string),
                .required("clientId", \.clientID, .string),
                .optional("scope", \.scope, .string)
            )

            package init(tokenURL: String, clientID: String, scope: String?) {
                (self.tokenURL, self.clientID, self.scope) = (tokenURL, clientID, scope)
            }
        }

        package struct Certificate: Described {
            package var certificate: String
            package var trustedCertificates: String?

            package static let fields = FieldTable(
                "ShownClientCertificate",
                Self.init(certificate:trustedCertificates:),
                .required("certificate", \.certificate, .string),
                .optional("trustedCertificates", \.trustedCertificates, .string)
            )

            package init(certificate: String, trustedCertificates: String?) {
                (self.certificate, self.trustedCertificates) = (certificate, trustedCertificates)
            }
        }
    }
}

extension Field where Value == Bool {
    fileprivate static func enabled(_ path: Path<Bool>) -> Self {
        .preset("enabled", path, .boolean, or: true, "`true` by default.")
    }
}
