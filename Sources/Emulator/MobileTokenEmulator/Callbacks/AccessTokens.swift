import Coordination
import EmulatorBackend
import EmulatorMessages
import ExactJSON

/// The access tokens for callbacks, kept until they expire on the server's clock.
actor AccessTokens {
    struct Token: Sendable, Equatable {
        let value: String
        let expires: Milliseconds

        /// Reads the body of a token endpoint's response.
        ///
        /// - Returns: `nil` for anything but a bearer token that fits a header field.
        init?(parsing body: [UInt8], at now: Milliseconds) {
            guard let json = try? JSONValue(parsing: body), let value = json["access_token"]?.string,
                (1...8192).contains(value.utf8.count), value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                json["token_type"]?.string?.lowercased() ?? "bearer" == "bearer"
            else { return nil }
            self.value = value
            // A token without a stated lifetime is used once.
            let seconds = min(max(0, json["expires_in"]?.int64 ?? 0), 31_536_000)
            self.expires = now + seconds * 1000
        }
    }

    private var known: [OAuthClient: Token] = [:]
    /// Deliveries that need the same token concurrently share one request.
    private(set) var fetching: [OAuthClient: Coalescer<Result<Token, EmulatorError>>] = [:]

    /// Returns a client's unexpired token, or the result of `fetch`.
    func token(
        of client: OAuthClient,
        at now: Milliseconds,
        fetch: @escaping @Sendable () async -> Result<Token, EmulatorError>
    ) async throws(EmulatorError) -> Token {
        if let token = self.known[client], now < token.expires { return token }
        let shared = self.fetching[client] ?? Coalescer()
        self.fetching[client] = shared
        let result: Result<Token, EmulatorError>
        do {
            result = try await shared.run {
                let result = await fetch()
                // Before the run ends: who comes later joins it, or finds the token.
                await self.keep(result, of: client, at: now)
                return result
            }
        } catch {
            result = .failure(EmulatorError(.refused, "the delivery was canceled"))
        }
        return try result.get()
    }

    private func keep(_ result: Result<Token, EmulatorError>, of client: OAuthClient, at now: Milliseconds) {
        guard !Task.isCancelled else { return }
        self.fetching[client] = nil
        self.known = self.known.filter { now < $0.value.expires }
        self.known[client] = try? result.get()
    }

    /// Drops a refused token, unless a newer one is known.
    func forget(_ token: Token, of client: OAuthClient) {
        if self.known[client] == token { self.known[client] = nil }
    }
}

extension OAuthClient {
    /// The token request as in the journal, without the response's body, which holds the token.
    var tokenRequest: ReceivedRequest {
        let headers = [
            (name: "Content-Type", value: "application/x-www-form-urlencoded"),
            (name: "Accept", value: "application/json"), (name: "Authorization", value: self.authorization),
        ]
        return ReceivedRequest(method: "POST", path: self.tokenURL, headers: headers, body: self.form)
    }
}
