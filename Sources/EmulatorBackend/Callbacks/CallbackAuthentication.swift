import Basics
import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthCrypto

/// A client of OAuth 2.0 that asks for access tokens with its own credentials (RFC 6749, section 4.4).
package struct OAuthClient: Sendable, Codable, Hashable {
    /// The address that issues tokens.
    package let tokenURL: String
    let clientID: String
    let clientSecret: String
    let scope: String?

    /// The value of the `Authorization` field with which the client asks for a token.
    package var authorization: String {
        // The two are form-encoded first, so that a colon in the identifier does not end it.
        BasicCredentials(user: Self.encoded(self.clientID), password: Self.encoded(self.clientSecret)).authorization
    }

    /// The form with which the client asks for a token.
    package var form: [UInt8] {
        Array(("grant_type=client_credentials" + (self.scope.map { "&scope=" + Self.encoded($0) } ?? "")).utf8)
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: Self.unreserved) ?? ""
    }

    private static var unreserved: CharacterSet {
        CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    }
}

/// The client certificate of a callback and its key, in PEM.
package struct ClientIdentity: Sendable, Codable, Hashable {
    /// The certificate, followed by any intermediate ones.
    package let certificate: String
    package let privateKey: String
    package let privateKeyPassword: String?
    /// The authorities that vouch for the bank's server; `nil` for the system's.
    package let trustedCertificates: String?
}

/// How callbacks show who sends them. The secrets are in exports, and in no response.
struct CallbackAuthentication {
    var user: String?
    var password: String?
    var oauth: OAuthClient?
    var identity: ClientIdentity?

    /// Reads the `authentication` of a request that was checked. What is switched off is as if it were not there.
    init(_ object: JSONObject?, forCallbackTo url: String) throws(Refusal) {
        if let basic = try Self.member("httpBasic", of: object) {
            self.user = try basic.string("username")
            self.password = try basic.string("password")
        }
        if let oauth = try Self.member("oAuth2", of: object) {
            guard self.user == nil else { throw .invalidRequest("'authentication' is either Basic or OAuth 2.0") }
            let tokenURL = try oauth.string("tokenUri")
            try CallbackMessage.check(url: tokenURL, named: "authentication.oAuth2.tokenUri")
            self.oauth = OAuthClient(
                tokenURL: tokenURL,
                clientID: try oauth.string("clientId"),
                clientSecret: try oauth.string("clientSecret"),
                scope: try oauth.optionalString("scope")
            )
        }
        if let certificate = try Self.member("certificate", of: object) {
            guard url.utf8.starts(with: "https:".utf8) else {
                throw .invalidRequest("A certificate can be shown to an address of https only")
            }
            self.identity = try Self.identity(certificate)
        }
    }

    private static func member(_ name: String, of object: JSONObject?) throws(Refusal) -> JSONObject? {
        guard let member = try object?.optionalObject(name), try member.optionalBool("enabled") ?? true else {
            return nil
        }
        return member
    }

    private static func identity(_ object: JSONObject) throws(Refusal) -> ClientIdentity {
        let identity = ClientIdentity(
            certificate: try object.string("certificate"),
            privateKey: try object.string("privateKey"),
            privateKeyPassword: try object.optionalString("privateKeyPassword"),
            trustedCertificates: try object.optionalString("trustedCertificates")
        )
        let documents = [
            ("certificate", identity.certificate, "CERTIFICATE-----"),
            ("privateKey", identity.privateKey, "PRIVATE KEY-----"),
            ("trustedCertificates", identity.trustedCertificates, "CERTIFICATE-----"),
        ]
        for (name, pem, label) in documents {
            guard let pem else { continue }
            guard pem.contains("-----BEGIN "), pem.contains(label) else {
                throw .invalidRequest(
                    "'authentication.certificate.\(name)' is no PEM document of a \(label.dropLast(5))"
                )
            }
        }
        return identity
    }
}

extension Callback {
    /// How it authenticates itself, without any secret.
    var shownAuthentication: JSONValue? {
        var object: JSONObject = [:]
        object["httpBasic"] = self.user.map { ["username": .string($0)] }
        if let oauth = self.oauth {
            var members: JSONObject = ["tokenUri": .string(oauth.tokenURL), "clientId": .string(oauth.clientID)]
            members["scope"] = oauth.scope.map { .string($0) }
            object["oAuth2"] = .object(members)
        }
        if let identity = self.identity {
            var members: JSONObject = ["certificate": .string(identity.certificate)]
            members["trustedCertificates"] = identity.trustedCertificates.map { .string($0) }
            object["certificate"] = .object(members)
        }
        return object.members.isEmpty ? nil : .object(object)
    }
}

extension Schema {
    static let newCallbackAuthentication = Self.object(
        "NewCallbackAuthentication",
        [
            .optional(
                "httpBasic",
                .object([Self.enabled, .required("username", .word), .required("password", .word)])
            ),
            .optional(
                "oAuth2",
                .object([
                    Self.enabled, .required("tokenUri", .word, "Where access tokens are to be had."),
                    .required("clientId", .word), .required("clientSecret", .word), .optional("scope", .string),
                ]),
                "A token is fetched with the client's own credentials, kept until it expires, and fetched anew after a 401."
            ),
            .optional(
                "certificate",
                .object([
                    Self.enabled, .required("certificate", .word, "PEM, with any intermediate ones."),
                    .required("privateKey", .word, "PEM."), .optional("privateKeyPassword", .string),
                    .optional(
                        "trustedCertificates",
                        .string,
                        "PEM of what vouches for the bank; the system's if left out."
                    ),
                ]),
                "For an address of https whose server asks for a certificate."
            ),
        ]
    )

    private static var enabled: Member { .optional("enabled", .boolean, "True if left out.") }

    static let callbackAuthentication = Self.object(
        "CallbackAuthentication",
        [
            .optional("httpBasic", .object([.required("username", .string)])),
            .optional(
                "oAuth2",
                .object([
                    .required("tokenUri", .string), .required("clientId", .string), .optional("scope", .string),
                ])
            ),
            .optional(
                "certificate",
                .object([.required("certificate", .string), .optional("trustedCertificates", .string)])
            ),
        ]
    )
}
