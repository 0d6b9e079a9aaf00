internal import HTTPClientTransport
internal import PowerAuthCrypto
internal import PowerAuthProtocol

/// A request that takes a signature.
struct SignedRequest: Sendable {
    let path: String
    let uriID: String
    let keys: SigningKeys
    var headers: HTTPHeaders = [:]
    /// Makes the body anew for every attempt: an encrypted one may be used once.
    let body: @Sendable () async throws -> RequestBody
}

/// A body as it is sent, and how to read the answer to it.
struct RequestBody: Sendable {
    let bytes: [UInt8]
    /// The identifier of the temporary key it is encrypted for.
    var temporaryKeyID: String?
    /// Tells the server how to open it; left out when the request is signed, for the signature's header says as much.
    var encryptionHeader: String?
    /// Decrypts the answer; the identity for bodies in the clear.
    var open: @Sendable ([UInt8]) throws -> [UInt8] = { $0 }
}

extension Activation {
    /// Signs and sends a request when its turn comes, and hands the answer to `receive` before the turn ends.
    ///
    /// - Throws: `CancellationError` at once when the task is cancelled. Before anything was signed the request is then
    ///   dropped; later it is finished in the background, `receive` included.
    nonisolated func send<Answer: Sendable>(
        _ request: SignedRequest,
        receive: @escaping @Sendable (ChannelResponse) async throws -> Answer
    ) async throws -> Answer {
        try await self.takingTurn { audience in
            try await receive(try await self.exchange(request, for: audience))
        }
    }

    /// Runs `work` when it is this caller's turn, among the tasks of this process and then among processes.
    nonisolated func takingTurn<Answer: Sendable>(
        _ work: @escaping @Sendable (Errand.Audience) async throws -> Answer
    ) async throws -> Answer {
        try await self.server.gate.enter(self.activationID)
        let lease: any SigningLease
        do {
            lease = try await MobileTokenError.store {
                try await self.server.store.acquireSigningLease(of: self.activationID)
            }
        } catch {
            self.server.gate.leave(self.activationID)
            throw error
        }
        // From here on the errand owns the turn: it gives it back whether or not the caller is still there.
        return try await Errand.run { audience in
            let result: Result<Answer, any Error>
            do {
                try audience.checkIsWaiting()
                result = .success(try await work(audience))
            } catch {
                result = .failure(error)
            }
            await lease.release()
            self.server.gate.leave(self.activationID)
            return try result.get()
        }
    }

    /// One signed exchange, within a turn. Puts right what can be put right, each thing once.
    private func exchange(_ request: SignedRequest, for audience: Errand.Audience) async throws -> ChannelResponse {
        var maySynchronize = true
        var mayRenewKey = true
        while true {
            // The activation may have been removed while this request waited, here or at one of the awaits below.
            try self.checkNotRemoved()
            let body = try await request.body()
            // Nothing has happened yet: the last moment at which a cancelled request leaves no trace.
            try audience.checkIsWaiting()
            do {
                return try await self.attempt(request, body)
            } catch is Unsettled {
                // Comes back only when somebody else moves the counter between the status and the next attempt.
                try await self.settle(for: audience)
            } catch let error as MobileTokenError where error.mayMeanUnknownTemporaryKey && mayRenewKey {
                guard let keyID = body.temporaryKeyID else { throw error }
                mayRenewKey = false
                self.forgetEncryptionKey(keyID)
                self.server.observer?.requestRetried(path: request.path, reason: .temporaryKeyRenewed)
            } catch let error as MobileTokenError where error.code == .authenticationFailed && maySynchronize {
                maySynchronize = false
                try await self.explain(error, of: request.keys.type)
                self.server.observer?.requestRetried(path: request.path, reason: .counterMoved)
            }
        }
    }

    /// Takes a counter value, signs and sends. Whatever happens afterwards, that value is spent.
    ///
    /// - Throws: ``Unsettled``, before anything happened, when the fate of an earlier signature is not known.
    func attempt(
        _ request: SignedRequest,
        _ body: RequestBody,
        evenUnsettled: Bool = false
    ) async throws -> ChannelResponse {
        let taken = try await self.takeCounter(
            settled: evenUnsettled ? .whatever : .onlyAt(self.settledCounter),
            confirmed: self.confirmedCounter
        )
        guard let (counter, next) = taken else { throw Unsettled() }
        self.takenCounter = next
        var headers = request.headers
        headers[SignatureHeader.name] = self.signatureHeader(request, body: body.bytes, counter: counter)
        let answer = try await self.server.post(request.path, headers: headers, body: body.bytes)
        let opened = try answer.map { bytes in try MobileTokenError.reading(request.path) { try body.open(bytes) } }
        // A page of some proxy proves nothing. Until a JSON answer came, the next signature asks for the status first.
        if answer.bytes.first(where: { !Self.blanks.contains($0) }) == UInt8(ascii: "{") {
            self.settledCounter = next
            self.confirmedCounter = next
        }
        return opened
    }

    private static let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]

    /// The fate of an earlier signature is not known: ask for the status before the next one.
    private struct Unsettled: Error {}

    /// Whether a counter value may be taken while the fate of an earlier signature is not known.
    enum SettledRequirement: Sendable {
        case whatever
        /// Only when the counter still stands where the last exchange left it, with a known end.
        case onlyAt(HashCounter?)
    }

    /// Moves the counter in the store, durably, and returns the value to sign with and the one after it.
    ///
    /// The record is unsettled from now on: should this process die, the next one asks for the status first.
    ///
    /// - Returns: `nil`, and no value is taken, when the record is unsettled against the requirement.
    /// - Throws: `stateRolledBack` when the store knows that the values from here on may have been used.
    nonisolated func takeCounter(
        settled: SettledRequirement,
        confirmed: HashCounter?
    ) async throws -> (value: HashCounter, next: HashCounter)? {
        try await self.updateRecord { record in
            guard !record.isRolledBack else {
                throw MobileTokenError(.stateRolledBack, "The store was restored from a backup that is too old")
            }
            let value = record.counter
            if record.isUnsettled, case .onlyAt(let settled) = settled, value != settled { return nil }
            if value == confirmed { record.confirmCounter() }
            record.counter = value.next()
            record.isUnsettled = true
            return (value, record.counter)
        }
    }

    private nonisolated func signatureHeader(
        _ request: SignedRequest,
        body: [UInt8],
        counter: HashCounter
    ) -> String {
        let nonce = self.server.randomness.bytes(16)
        let data = SignatureData(method: "POST", uriID: request.uriID, nonce: nonce, body: body)
        let signature = RequestSignature(
            data,
            keys: request.keys.keys,
            counter: counter,
            secret: .online(self.server.application.applicationSecret)
        )
        return SignatureHeader(
            activationID: self.activationID,
            applicationKey: self.identity.applicationKey,
            nonce: nonce,
            type: request.keys.type,
            signature: signature.onlineBytes,
            version: self.identity.version
        ).value
    }
}
