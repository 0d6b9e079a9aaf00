import CloudCalls
import EmulatorBackend
public import MobileTokenCloud

extension Emulator {
    /// An address that is told when operations or activations change.
    public struct Callback: Sendable {
        /// The subject of the callback.
        public enum Subject: String, Sendable, Hashable {
            /// Operations that are made, that an attempt to approve failed for, or whose status changes.
            case operations = "OPERATION_STATUS_CHANGE"
            /// Activations whose status changes.
            case activations = "ACTIVATION_STATUS_CHANGE"
        }

        /// A name for people.
        public var name: String
        /// The things that it tells of: operations or activations.
        public var subject: Subject
        /// The address: one of `http` or `https`.
        public var url: String
        /// The attributes that are sent beside the type and the identifier, such as `status`.
        public var attributes: [String]
        /// The ways in which it shows who sends it; any number that fit together.
        public var authentication: [Authentication]
        /// The most attempts for one delivery; 1 by default.
        public var maximumAttempts: Int

        /// Creates a callback that nobody is told of yet; ``CloudClient/createCallback(_:)`` sets it up.
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

        /// A way in which a callback shows who sends it. Its description and its mirror tell no secret.
        public struct Authentication: Sendable, CustomStringConvertible, CustomReflectable {
            private let name: String
            /// Adds it to what a new callback authenticates itself with.
            let add: @Sendable (inout CloudAPI.NewCallbackAuthentication) -> Void

            /// Basic authentication.
            public static func basic(user: String, password: String) -> Self {
                Self(name: "httpBasic") { $0.basic = .init(user: user, password: password) }
            }

            /// OAuth 2.0 with a client's own credentials: an access token is fetched, kept until it expires, and fetched once
            /// more after a 401.
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

            /// A client certificate, for a server of `https` that asks for one. All documents are PEM.
            ///
            /// - Parameters:
            ///   - certificate: The certificate, followed by any intermediate ones.
            ///   - privateKey: Its private key.
            ///   - privateKeyPassword: The key's password; `nil` when it is not encrypted.
            ///   - trustedCertificates: The authorities that vouch for the server; `nil` for those of the system.
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
            /// Empty, so that `dump` reveals no secret.
            public var customMirror: Mirror { Mirror(self, children: []) }
        }
    }
}

extension CloudClient {
    /// Sets up an address that a development server tells of changes.
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

    /// Removes a callback of a development server; what is under way still arrives.
    ///
    /// - Throws: `CloudError`.
    public func removeCallback(_ id: String) async throws {
        _ = try await self.call(CloudAPI.removeCallback, id)
    }
}
