import Basics
import HTTPClientTransport
import MobileTokenObserving
import PowerAuthProtocol
import Synchronization

/// Named tokens: created on demand, stored, and renewed once when the server refuses one.
extension Activation {
    /// Returns the names of the activation's stored tokens, sorted.
    package func namesOfTokens() async throws -> [String] {
        try await self.storedRecord().tokens.keys.sorted().map(\.string)
    }

    /// Creates a token at the server, unless one with this name and at least these factors exists. Concurrent requests for a name
    /// share one creation if its factors suffice for each.
    package func createToken(named name: String, with authentication: Authentication) async throws {
        _ = try await self.token(TokenDemand(name, SignatureType(authentication), with: authentication))
    }

    /// Replaces a token. `authentication` has at least its factors.
    package func replaceToken(named name: String, with authentication: Authentication) async throws {
        let demand = TokenDemand(name, SignatureType(authentication), with: authentication)
        let refused = try await self.storedRecord().tokens[demand.name]
        if let refused {
            guard demand.factors.covers(refused.factors) else { throw MobileTokenError.tokenNeedsFactors }
        }
        _ = try await self.createToken(demand, replacing: refused)
    }

    /// Removes a token at the server and locally, if it exists.
    package func removeToken(named name: String) async throws {
        try self.checkNotRemoved()
        let name = ExactString(name)
        guard let token = try await self.storedRecord().tokens[name] else { return }
        guard token.isUsable else { return try await self.forgetToken(name, token) }
        let request = try EndpointRequest(.tokenRemove, TokenRemoval(tokenId: token.id))
        try await self.send(with: .possession) { keys in
            try SignedRequest(request, keys: keys)
        } receive: { response, _ in
            let subject = Acknowledgement.Subject(member: "tokenId", value: token.id)
            try Acknowledgement.check(response, of: "token/remove", about: subject)
            try await self.forgetToken(name, token)
        }
    }

    private struct TokenRemoval: Encodable { let tokenId: String }

    /// Removes a token locally; it stays valid at the server.
    package func forgetToken(named name: String) async throws {
        let name = ExactString(name)
        self.tokenCache[name] = nil
        try await self.updateRecord { $0.tokens[name] = nil }
    }

    /// Sends with a token, and retries once with a new one if the server refuses it.
    func send(
        _ request: EndpointRequest,
        headers: HTTPHeaders,
        withToken demand: TokenDemand
    ) async throws -> ServerResponse {
        try await self.waitForUpgrade()
        let token = try await self.token(demand)
        try await self.server.tryToSynchronizeTime()  // after the token, whose creation may have shown the time
        do {
            let response = try await self.post(request, headers: headers, token: token)
            if !self.renewalsInVain.isEmpty { self.renewalsInVain[demand.name] = nil }
            return response
        } catch let error as MobileTokenError where error.code == .authenticationFailed {
            // Thousands of signed requests at once would be an attack.
            let limiter = self.server.limiter.withLock { $0 }
            guard self.mayRenewToken(demand.name), limiter?.mayRenewToken() ?? true else {
                throw error.unproven("whose token is not made anew now")
            }
            do {
                // The server forgot the token, or the estimate of its time is wrong.
                self.server.time.distrust()
                try await self.server.synchronizeTime()
                guard let renewed = try await self.replaceToken(refused: token, for: demand) else {
                    throw MobileTokenError.tokenNotRenewed(error)
                }
                self.observeRetry(of: try self.path(of: request), for: .tokenRenewed)
                let response = try await self.post(request, headers: headers, token: renewed)
                limiter?.recordTokenRenewal(isAccepted: true)
                self.renewalsInVain[demand.name] = nil
                return response
            } catch let error as MobileTokenError where [.authenticationFailed, .refusalUnproven].contains(error.code) {
                limiter?.recordTokenRenewal(isAccepted: false)
                guard error.code == .authenticationFailed else { throw error }
                self.renewalsInVain[demand.name] = self.server.clocks.monotonic
                throw error.unproven("and the token that it had just made")
            }
        }
    }

    /// Returns whether a refused token may be replaced, which costs a signature and leaves a token at the server. Not within five
    /// minutes after a replacement was refused too.
    private func mayRenewToken(_ name: ExactString) -> Bool {
        guard let inVain = self.renewalsInVain[name] else { return true }
        return self.server.clocks.monotonic - inVain > .seconds(300)
    }

    /// Makes one request with a token, and repeats it if the server no longer knows its encryption key.
    private func post(
        _ request: EndpointRequest,
        headers: HTTPHeaders,
        token: ActivationRecord.Token
    ) async throws -> ServerResponse {
        let path = try self.path(of: request)
        let sealed = try await self.encrypting { try await request.sealed(in: self.dialect) }
        do {
            return try await self.postOnce(path, headers: headers, token: token, body: sealed)
        } catch let error as MobileTokenError {
            guard let keyID = sealed.temporaryKeyID else { throw error }
            let verdict = TemporaryKeyVerdict(.token, error)
            if verdict != .keep { self.forgetEncryptionKey(keyID) }
            guard verdict == .renew else { throw error }
            self.observeRetry(of: path, for: .temporaryKeyRenewed)
            let body = try await request.sealed(in: self.dialect)
            return try await self.postOnce(path, headers: headers, token: token, body: body)
        }
    }

    private func path(of request: EndpointRequest) throws -> String {
        try request.endpoint.path(in: self.dialect.version)
    }

    private func postOnce(
        _ path: String,
        headers: HTTPHeaders,
        token: ActivationRecord.Token,
        body: EncodedBody
    ) async throws -> ServerResponse {
        var headers = headers
        let header = try MobileTokenError.mapCryptoErrors {
            try self.dialect.tokenHeader(
                token,
                nonce: self.server.randomness.bytes(16),
                timestamp: self.server.time.milliseconds
            )
        }
        headers[TokenHeader.name] = header.value
        headers.setEncryption(of: body)
        let response = try await self.server.post(
            path,
            for: self.activationID,
            headers: headers,
            body: body.bytes
        )
        return try response.opened(by: body, of: path)
    }
}
