import Basics
import MobileTokenCloud

/// An OAuth 2.0 client that requests access tokens with its own credentials (RFC 6749, section 4.4).
package struct OAuthClient: Sendable, Codable, Hashable {
    /// The token endpoint.
    package let tokenURL: String
    let clientID: String
    let clientSecret: String
    let scope: String?

    /// The `Authorization` field of a token request.
    package var authorization: String {
        // Both are form-encoded first, so that a colon in the identifier does not end it.
        BasicCredentials(
            user: PercentEncoding.encode(self.clientID),
            password: PercentEncoding.encode(self.clientSecret)
        ).authorization
    }

    /// The form of a token request.
    package var form: [UInt8] {
        Array(
            ("grant_type=client_credentials" + (self.scope.map { "&scope=" + PercentEncoding.encode($0) } ?? "")).utf8
        )
    }
}

/// A callback's client certificate and its key, in PEM.
package struct ClientIdentity: Sendable, Codable, Hashable {
    /// The certificate, followed by any intermediate ones.
    package let certificate: String
    package let privateKey: String
    package let privateKeyPassword: String?
    /// The authorities for the bank's server; `nil` for the system's.
    package let trustedCertificates: String?
}

/// The authentication of callbacks. Exports contain the secrets; responses do not.
struct CallbackAuthentication {
    var user: String?
    var password: String?
    var oauth: OAuthClient?
    var identity: ClientIdentity?

    /// Takes the methods that a request enables.
    init(_ request: CloudAPI.NewCallbackAuthentication?, forCallbackTo url: String) throws(Refusal) {
        if let basic = request?.basic, basic.isEnabled { (self.user, self.password) = (basic.user, basic.password) }
        if let oauth = request?.oauth, oauth.isEnabled {
            try CallbackMessage.check(url: oauth.tokenURL, named: "authentication.oAuth2.tokenUri")
            self.oauth = OAuthClient(
                tokenURL: oauth.tokenURL,
                clientID: oauth.clientID,
                clientSecret: oauth.clientSecret,
                scope: oauth.scope
            )
        }
        if let certificate = request?.certificate, certificate.isEnabled {
            guard url.utf8.starts(with: "https:".utf8) else {
                throw .invalidRequest("A certificate can be shown to an address of https only")
            }
            self.identity = try ClientIdentity(certificate)
        }
    }
}

extension ClientIdentity {
    fileprivate init(_ request: CloudAPI.NewCallbackAuthentication.Certificate) throws(Refusal) {
        let documents = [
            ("certificate", request.certificate, "CERTIFICATE"), ("privateKey", request.privateKey, "PRIVATE KEY"),
            ("trustedCertificates", request.trustedCertificates, "CERTIFICATE"),
        ]
        for (name, pem, label) in documents {
            guard let pem else { continue }
            guard pem.contains("-----BEGIN "), pem.contains("\(label)-----") else {
                throw .invalid("authentication.certificate.\(name)", "is no PEM document of a \(label)")
            }
        }
        self.init(
            certificate: request.certificate,
            privateKey: request.privateKey,
            privateKeyPassword: request.privateKeyPassword,
            trustedCertificates: request.trustedCertificates
        )
    }
}

extension Callback {
    /// The authentication without secrets.
    var shownAuthentication: CloudAPI.CallbackAuthentication? {
        guard self.user != nil || self.oauth != nil || self.identity != nil else { return nil }
        return CloudAPI.CallbackAuthentication(
            basic: self.user,
            oauth: self.oauth.map { .init(tokenURL: $0.tokenURL, clientID: $0.clientID, scope: $0.scope) },
            certificate: self.identity.map {
                .init(certificate: $0.certificate, trustedCertificates: $0.trustedCertificates)
            }
        )
    }
}
