import EmulatorBackend
import ExactJSON

extension Emulator {
    /// An address that is told when operations or activations change.
    public struct Callback: Sendable {
        /// What is told of.
        public enum Subject: String, Sendable, Hashable {
            /// Operations that are made, that an attempt to approve failed for, or whose status changes.
            case operations = "OPERATION_STATUS_CHANGE"
            /// Activations whose status changes.
            case activations = "ACTIVATION_STATUS_CHANGE"
        }

        /// A name for people.
        public var name: String
        /// What is told of.
        public var subject: Subject
        /// Where to: an address of `http` or `https`.
        public var url: String
        /// What is told beside the type and the identifier, such as `status`.
        public var attributes: [String]
        /// How it shows who sends it; any number of ways that fit together.
        public var authentication: [Authentication]
        /// How often one delivery is tried.
        public var maximumAttempts: Int

        /// Creates a callback that nobody is told of yet; ``Emulator/Cloud/createCallback(_:)`` sets it up.
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
            let name: String
            let members: JSONObject

            /// Basic authentication.
            public static func basic(user: String, password: String) -> Self {
                Self(name: "httpBasic", members: ["username": .string(user), "password": .string(password)])
            }

            /// OAuth 2.0 with a client's own credentials: an access token is fetched, kept until it expires, and fetched once
            /// more after a 401.
            public static func oauth2(
                tokenURL: String,
                clientID: String,
                clientSecret: String,
                scope: String? = nil
            ) -> Self {
                var members: JSONObject = [
                    "tokenUri": .string(tokenURL), "clientId": .string(clientID),
                    "clientSecret": .string(clientSecret),
                ]
                members["scope"] = scope.map { .string($0) }
                return Self(name: "oAuth2", members: members)
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
                var members: JSONObject = ["certificate": .string(certificate), "privateKey": .string(privateKey)]
                members["privateKeyPassword"] = privateKeyPassword.map { .string($0) }
                members["trustedCertificates"] = trustedCertificates.map { .string($0) }
                return Self(name: "certificate", members: members)
            }

            /// The kind of authentication.
            public var description: String { "Authentication(\(self.name))" }
            /// Empty, so that `dump` reveals no secret.
            public var customMirror: Mirror { Mirror(self, children: []) }
        }
    }
}

extension Emulator.Cloud {
    /// Sets up an address that is told of changes.
    ///
    /// - Returns: The callback's identifier.
    @discardableResult
    public func createCallback(_ callback: Emulator.Callback) async throws(EmulatorError) -> String {
        var body: JSONObject = [
            "name": .string(callback.name), "type": .string(callback.subject.rawValue),
            "callbackUrl": .string(callback.url), "attributes": .array(callback.attributes.map { .string($0) }),
            "maxAttempts": .number(JSONNumber(callback.maximumAttempts)),
        ]
        if !callback.authentication.isEmpty {
            let ways = callback.authentication.map { JSONObject.Member(key: $0.name, value: .object($0.members)) }
            body["authentication"] = .object(JSONObject(ways))
        }
        return try await self.call("POST", "/v2/callbacks", .object(body)).string("callbackId")
    }

    /// Removes a callback; what is under way still arrives.
    public func removeCallback(_ id: String) async throws(EmulatorError) {
        _ = try await self.call("DELETE", "/v2/callbacks/\(id)")
    }
}
