public import MobileTokenCloud

extension Emulator {
    /// An address to notify when operations or activations change.
    public struct Callback: Sendable {
        /// The subject of the callback.
        public enum Subject: String, Sendable, Hashable {
            /// Operations: creation, failed approvals and status changes.
            case operations = "OPERATION_STATUS_CHANGE"
            /// Activations: status changes.
            case activations = "ACTIVATION_STATUS_CHANGE"
        }

        /// A name for people.
        public var name: String
        /// The subject: operations or activations.
        public var subject: Subject
        /// The address, with scheme `http` or `https`.
        public var url: String
        /// The attributes to send besides the type and the identifier, such as `status`.
        public var attributes: [String]
        /// The methods of authentication; any number of compatible ones.
        public var authentication: [Authentication]
        /// The maximum number of attempts for one delivery; 1 by default.
        public var maximumAttempts: Int

        /// Creates a callback. ``CloudClient/createCallback(_:)`` then registers it.
        public init(
            name: String,
            subject: Subject = .operations,
            url: String,
            attributes: [String] = [],
            authentication: [Authentication] = [],
            maximumAttempts: Int = 1
        ) {
            self.name = name
            self.subject = subject
            self.url = url
            self.attributes = attributes
            self.authentication = authentication
            self.maximumAttempts = maximumAttempts
        }

        /// A method to authenticate a callback's sender. Its description and its mirror show no secret.
        public struct Authentication: Sendable, CustomStringConvertible {
            private let name: String
            /// Adds the method to a new callback's authentication.
            let add: @Sendable (inout CloudAPI.NewCallbackAuthentication) -> Void

            /// Basic authentication.
            public static func basic(user: String, password: String) -> Self {
                Self(name: "httpBasic") { $0.basic = .init(user: user, password: password) }
            }

            /// OAuth 2.0 client credentials: the access token is fetched, kept until it expires, and fetched once more after a
            /// 401.
            public static func oauth2(
                tokenURL: String,
                clientID: String,
                clientSecret: String,
                scope: String? = nil
            ) -> Self {
                Self(name: "oAuth2") {
                    $0.oauth = .init(tokenURL: tokenURL, clientID: clientID, clientSecret: clientSecret, scope: scope)
                }
            }

            /// A client certificate, for an `https` server that requires one. All documents are PEM.
            ///
            /// - Parameters:
            ///   - certificate: The certificate, followed by any intermediate ones.
            ///   - privateKey: Its private key.
            ///   - privateKeyPassword: The key's password; `nil` if it is not encrypted.
            ///   - trustedCertificates: The authorities for the server's certificate; `nil` for the system's.
            public static func certificate(
                _ certificate: String,
                privateKey: String,
                privateKeyPassword: String? = nil,
                trustedCertificates: String? = nil
            ) -> Self {
                Self(name: "certificate") {
                    $0.certificate = .init(
                        certificate: certificate,
                        privateKey: privateKey,
                        privateKeyPassword: privateKeyPassword,
                        trustedCertificates: trustedCertificates
                    )
                }
            }

            /// The kind of authentication.
            public var description: String { "Authentication(\(self.name))" }
        }
    }
}

extension CloudClient {
    /// Registers an address that a development server notifies of changes.
    ///
    /// - Returns: The callback's identifier.
    /// - Throws: `CloudError`.
    @discardableResult
    public func createCallback(_ callback: Emulator.Callback) async throws -> String {
        var authentication = CloudAPI.NewCallbackAuthentication()
        for way in callback.authentication { way.add(&authentication) }
        let request = CloudAPI.NewCallback(
            name: callback.name,
            type: callback.subject.rawValue,
            url: callback.url,
            attributes: callback.attributes,
            authentication: callback.authentication.isEmpty ? nil : authentication,
            maximumAttempts: callback.maximumAttempts
        )
        return try await self.call(CloudAPI.createCallback, request).id
    }

    /// Removes a callback of a development server; deliveries in progress still arrive.
    ///
    /// - Throws: `CloudError`.
    public func removeCallback(_ id: String) async throws {
        _ = try await self.call(CloudAPI.removeCallback, id)
    }
}
