import Basics
import Coordination
import HTTPClientTransport
import PowerAuthProtocol
import Synchronization

/// Tokens by name: created when needed, kept in the store, renewed once when the server refuses one.
extension Activation {
    /// Returns the names of the tokens that the store holds for this activation, sorted.
    public func tokenNames() async throws -> [String] {
        try await self.storedRecord().tokens.keys.sorted().map(\.string)
    }

    /// Makes sure that a token of this name and of these factors at least exists, creating it at the server when it does not.
    ///
    /// Tasks that ask for the same name at once share one creation, when its factors are enough for each.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8 without control characters, compared byte for byte.
    /// - Throws: ``MobileTokenError/Code/invalidName`` for any other name, before anything is sent.
    public func requestToken(_ name: String, with authentication: Authentication = .possession) async throws {
        _ = try await self.token(TokenDemand(name, SignatureType(authentication), with: authentication))
    }

    /// Makes a token anew, such as one of two factors that the server refuses: that is not done by itself, since possession alone
    /// would make a lesser one.
    ///
    /// - Parameter authentication: The factors of the token that is replaced, or more.
    /// - Throws: ``MobileTokenError/Code/invalidAuthentication`` for fewer factors, before anything is sent.
    public func renewToken(_ name: String, with authentication: Authentication) async throws {
        let demand = TokenDemand(name, SignatureType(authentication), with: authentication)
        let refused = try await self.storedRecord().tokens[demand.name]
        if let refused {
            guard demand.factors.covers(refused.factors) else { throw MobileTokenError.tokenNeedsFactors }
        }
        _ = try await self.createToken(demand, replacing: refused)
    }

    /// Removes a token at the server and here. Does nothing when there is none of this name.
    public func removeToken(_ name: String) async throws {
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

    /// Forgets a token here; it stays valid at the server.
    public func removeTokenLocally(_ name: String) async throws {
        let name = ExactString(name)
        self.tokenCache[name] = nil
        try await self.updateRecord { $0.tokens[name] = nil }
    }

    /// Sends with a token, and once more with a new one when the server refuses it.
    func send(
        _ request: EndpointRequest,
        headers: HTTPHeaders,
        withToken demand: TokenDemand
    ) async throws -> ChannelResponse {
        try await self.waitForUpgrade()
        let token = try await self.token(demand)
        try await self.server.tryToSynchronizeTime()  // after the token, whose creation may have shown the time
        do {
            return try await self.post(request, headers: headers, token: token)
        } catch let error as MobileTokenError where error.code == .authenticationFailed {
            // Thousands of signed requests at once would be an attack.
            let limiter = self.server.limiter.withLock { $0 }
            guard limiter?.mayRenewToken() ?? true else { throw error }
            do {
                // The server forgot the token, or our idea of its time is wrong.
                self.server.time.distrust()
                try await self.server.synchronizeTime()
                guard let renewed = try await self.replaceToken(refused: token, for: demand) else {
                    throw MobileTokenError.tokenNotRenewed(error)
                }
                self.observeRetry(of: try self.path(of: request), for: .tokenRenewed)
                let response = try await self.post(request, headers: headers, token: renewed)
                limiter?.recordTokenRenewal(isAccepted: true)
                return response
            } catch let error as MobileTokenError where error.code == .authenticationFailed {
                limiter?.recordTokenRenewal(isAccepted: false)
                throw error
            }
        }
    }

    /// Makes one request with a token, and once more when it is encrypted for a key that the server does not know any
    /// more.
    private func post(
        _ request: EndpointRequest,
        headers: HTTPHeaders,
        token: ActivationRecord.Token
    ) async throws -> ChannelResponse {
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
        body: RequestBody
    ) async throws -> ChannelResponse {
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
