import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import HTTPClientTransport

/// The access tokens that callbacks are authorized with: kept until they expire on the server's clock.
actor AccessTokens {
    /// A token of a token endpoint.
    struct Token: Sendable, Equatable {
        let value: String
        let expires: Milliseconds

        /// Reads the body of a token endpoint's response.
        ///
        /// - Returns: `nil` for anything but a bearer token that a header field can hold.
        init?(parsing body: [UInt8], at now: Milliseconds) {
            guard let json = try? JSONValue(parsing: body), let value = json["access_token"]?.string,
                (1...8192).contains(value.utf8.count), value.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                json["token_type"]?.string?.lowercased() ?? "bearer" == "bearer"
            else { return nil }
            self.value = value
            // One of no stated life is used once.
            let seconds = min(max(0, json["expires_in"]?.int64 ?? 0), 31_536_000)
            self.expires = now + seconds * 1000
        }
    }

    private var known: [OAuthClient: Token] = [:]
    /// Deliveries that need the same token at once share one request for it.
    private var fetching: [OAuthClient: Task<Result<Token, EmulatorError>, Never>] = [:]

    /// Returns the token of a client that has not expired, or what `fetch` returns.
    func token(
        of client: OAuthClient,
        at now: Milliseconds,
        fetch: @escaping @Sendable () async -> Result<Token, EmulatorError>
    ) async throws(EmulatorError) -> Token {
        if let token = self.known[client], now < token.expires { return token }
        let task = self.fetching[client] ?? Task { await fetch() }
        self.fetching[client] = task
        // Only a server that stops cancels a delivery, and then all of them.
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        if self.fetching[client] == task {
            self.fetching[client] = nil
            self.known = self.known.filter { now < $0.value.expires }
            self.known[client] = try? result.get()
        }
        return try result.get()
    }

    /// Drops a token that was refused, unless another one is known by now.
    func forget(_ token: Token, of client: OAuthClient) {
        if self.known[client] == token { self.known[client] = nil }
    }
}

extension OAuthClient {
    /// As the journal shows it, without the response's body, which holds the token.
    var tokenRequest: ReceivedRequest {
        let headers = [
            (name: "Content-Type", value: "application/x-www-form-urlencoded"),
            (name: "Accept", value: "application/json"), (name: "Authorization", value: self.authorization),
        ]
        return ReceivedRequest(method: "POST", path: self.tokenURL, headers: headers, body: self.form)
    }
}
