import Basics
import PowerAuthCrypto

/// A sign-in request from a browser to a provider.
struct OIDCAuthorizationRequest {
    let state: String?
    let nonce: String
    let challenge: String?
    /// The user that the client expects.
    let loginHint: String?

    /// The response to a request with a valid client.
    enum Reading {
        case request(OIDCAuthorizationRequest)
        /// A redirect with an RFC 6749 error.
        case error(String, state: String?)
    }

    /// Reads a request.
    ///
    /// - Throws: A refusal if the request does not identify its client, so that redirecting might help an attacker.
    static func read(_ query: [(name: String, value: String)], _ provider: EmulatorOIDCProvider) throws(Refusal)
        -> Reading
    {
        let parameters = try OIDCParameters(query)
        guard parameters["client_id"]?.isExactly(provider.clientID) == true else {
            throw .invalidRequest("'client_id' is not that of the provider's client")
        }
        guard parameters["redirect_uri"]?.isExactly(provider.redirectURL) == true else {
            throw .invalidRequest("'redirect_uri' is not the one that the client registered")
        }
        let state = parameters["state"]
        guard parameters["response_type"] == "code" else { return .error("unsupported_response_type", state: state) }
        let names = EmulatorOIDCProvider.names(in: parameters["scope"] ?? "")
        guard names.contains("openid"), names.isSubset(of: EmulatorOIDCProvider.names(in: provider.scopes)) else {
            return .error("invalid_scope", state: state)
        }
        let challenge = parameters["code_challenge"]
        guard let nonce = parameters["nonce"], (1...512).contains(nonce.utf8.count),
            challenge != nil || !provider.requiresPKCE,
            challenge.map(Self.isChallenge) ?? true,
            parameters["code_challenge_method"].map({ $0 == "S256" }) ?? (challenge == nil)
        else { return .error("invalid_request", state: state) }
        return .request(Self(state: state, nonce: nonce, challenge: challenge, loginHint: parameters["login_hint"]))
    }

    private static func isChallenge(_ challenge: String) -> Bool { Base64URL.decode(challenge)?.count == 32 }
}

/// The parameters of a request in OAuth's form encoding.
struct OIDCParameters {
    private let values: [ExactString: String]

    /// - Throws: A refusal of a repeated parameter, because its value would depend on the reader.
    init(_ pairs: [(name: String, value: String)]) throws(Refusal) {
        var values: [ExactString: String] = [:]
        for (name, value) in pairs where values.updateValue(value, forKey: ExactString(name)) != nil {
            throw .invalidRequest("'\(DisplayText.escaped(name, limit: 32))' is given twice")
        }
        self.values = values
    }

    /// A nonempty parameter.
    subscript(name: String) -> String? {
        guard let value = self.values[ExactString(name)], !value.isEmpty else { return nil }
        return value
    }
}
