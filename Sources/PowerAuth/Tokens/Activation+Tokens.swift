import Basics
import Coordination
import HTTPClientTransport
import Synchronization

/// Tokens by name: created when needed, kept in the store, renewed once when the server refuses one.
extension Activation {
    /// Returns the names of the tokens that the store holds for this activation, sorted.
    public func tokenNames() async throws -> [String] {
        try await self.storedRecord().tokens.keys.sorted().map(\.string)
    }

    /// Makes sure that a token of this name exists, creating it at the server when it does not.
    ///
    /// Tasks that ask for the same name at once share one creation, and the factors of the first of them.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8 without control characters, compared byte for byte.
    /// - Throws: ``MobileTokenError/Code/invalidName`` for any other name, before anything is sent.
    public func requestToken(_ name: String, with authentication: Authentication = .possession) async throws {
        _ = try await self.token(try Self.tokenName(name), with: authentication)
    }

    /// Removes a token at the server and here. Does nothing when there is none of this name.
    public func removeToken(_ name: String) async throws {
        try self.checkNotRemoved()
        let name = ExactString(name)
        guard let token = try await self.storedRecord().tokens[name] else { return }
        try await self.send(with: .possession) { keys in
            SignedRequest(try keys.dialect.endpoint(of: .removeToken(id: token.id)), keys: keys)
        } receive: { response in
            let subject = Acknowledgement.Subject(member: "tokenId", value: token.id)
            try Acknowledgement.check(response, of: "token/remove", about: subject)
            try await self.forgetToken(name, token)
        }
    }

    /// Forgets a token here; it stays valid at the server.
    public func removeTokenLocally(_ name: String) async throws {
        let name = ExactString(name)
        self.tokenCache[name] = nil
        try await self.updateRecord { $0.tokens[name] = nil }
    }

    private static func tokenName(_ name: String) throws(MobileTokenError) -> ExactString {
        try NameRule.check(name, of: "a token")
        return ExactString(name)
    }

    /// Posts with a token, and once more with a new one when the server refuses it.
    ///
    /// - Parameter body: Makes the body anew for each attempt: an encrypted one may be used once.
    func postWithToken(
        _ name: String,
        path: String,
        headers: HTTPHeaders,
        body: @Sendable () async throws -> RequestBody
    ) async throws -> ChannelResponse {
        try self.checkNotRemoved()
        let name = try Self.tokenName(name)
        try await self.waitForUpgrade()
        let token = try await self.token(name, with: .possession)
        try await self.server.tryToSynchronizeTime()  // after the token, whose creation may have shown the time
        do {
            return try await self.post(path, headers: headers, token: token, body: body)
        } catch let error as MobileTokenError where error.code == .authenticationFailed {
            // Thousands of signed requests at once would be an attack.
            let gate = self.server.gate.withLock { $0 }
            guard gate?.mayRenewToken() ?? true else { throw error }
            do {
                // The server forgot the token, or our idea of its time is wrong.
                self.server.time.distrust()
                try await self.server.synchronizeTime()
                let renewed = try await self.replaceToken(name, refused: token)
                self.observeRetry(of: path, for: .tokenRenewed)
                let response = try await self.post(path, headers: headers, token: renewed, body: body)
                gate?.tokenRenewed(isAccepted: true)
                return response
            } catch let error as MobileTokenError where error.code == .authenticationFailed {
                gate?.tokenRenewed(isAccepted: false)
                throw error
            }
        }
    }

    /// Makes one request with a token, and once more when it is encrypted for a key that the server does not know any
    /// more.
    private func post(
        _ path: String,
        headers: HTTPHeaders,
        token: ActivationRecord.Token,
        body: @Sendable () async throws -> RequestBody
    ) async throws -> ChannelResponse {
        let sealed = try await self.encrypting(body)
        do {
            return try await self.postOnce(path, headers: headers, token: token, body: sealed)
        } catch let error as MobileTokenError {
            guard let keyID = sealed.temporaryKeyID else { throw error }
            let verdict = TemporaryKeyVerdict(EncryptedCall(path, .token), error)
            if verdict != .keep { self.forgetEncryptionKey(keyID) }
            guard verdict == .renew else { throw error }
            self.observeRetry(of: path, for: .temporaryKeyRenewed)
            return try await self.postOnce(path, headers: headers, token: token, body: try await body())
        }
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
        headers[header.name] = header.value
        headers.setEncryption(of: body)
        let response = try await self.server.post(
            path,
            for: self.activationID,
            headers: headers,
            body: body.bytes
        )
        return try response.map { bytes in try MobileTokenError.mapErrors(ofResponse: path) { try body.open(bytes) } }
    }
}

// MARK: - Finding, creating, replacing

extension Activation {
    private func token(_ name: ExactString, with authentication: Authentication) async throws -> ActivationRecord.Token
    {
        if let token = self.tokenCache[name] { return token }
        let record = try await self.storedRecord()
        // A token that another process has renewed may be of another version.
        try self.adopt(record)
        // Another task may have created one, or the activation been removed, while the store was read.
        try self.checkNotRemoved()
        if let token = self.tokenCache[name] ?? record.tokens[name] {
            self.tokenCache[name] = token
            return token
        }
        return try await self.createToken(name, with: authentication)
    }

    private func createToken(
        _ name: ExactString,
        with authentication: Authentication
    ) async throws -> ActivationRecord.Token {
        let flight = self.tokenFlights[name] ?? SingleFlight()
        self.tokenFlights[name] = flight
        return try await flight.run { try await self.fetchToken(name, with: authentication) }
    }

    private func fetchToken(
        _ name: ExactString,
        with authentication: Authentication
    ) async throws -> ActivationRecord.Token {
        // A creation that ended between the caller's look and this flight's start left its token here.
        if let token = self.tokenCache[name] { return token }
        return try await self.send(with: authentication) { keys in
            let endpoint = try keys.dialect.endpoint(of: .createToken)
            return SignedRequest(path: endpoint.path, uriID: endpoint.uriID, keys: keys) {
                try await keys.dialect.encryption.encrypt(endpoint.body, for: .tokenCreation)
            }
        } receive: { response in
            let dialect = self.dialect
            let path = try dialect.endpoint(of: .createToken).path
            let token = try response.read { bytes in try dialect.token(in: bytes, of: path) }
            // Kept even when the caller no longer waits: the server has it now, and the next request can use it.
            try await self.updateRecord { $0.tokens[name] = token }
            await self.remember(token, as: name)
            return token
        }
    }

    private func replaceToken(_ name: ExactString, refused: ActivationRecord.Token) async throws
        -> ActivationRecord.Token
    {
        // Another task, or another process by way of the store, may have replaced it already.
        if let token = self.tokenCache[name], token != refused { return token }
        try await self.forgetToken(name, refused)
        return try await self.token(name, with: .possession)
    }

    /// Forgets a token unless another one has taken its name.
    private func forgetToken(_ name: ExactString, _ token: ActivationRecord.Token) async throws {
        if self.tokenCache[name] == token { self.tokenCache[name] = nil }
        try await self.updateRecord { record in
            if record.tokens[name] == token { record.tokens[name] = nil }
        }
    }

    private func remember(_ token: ActivationRecord.Token, as name: ExactString) {
        guard self.isPresent else { return }
        self.tokenCache[name] = token
    }
}
