internal import Basics
internal import ExactJSON
internal import Foundation
internal import PowerAuthCrypto
internal import PowerAuthProtocol

extension Activation {
    /// Asks the server for the activation's state, and brings the counter in step when it is not.
    ///
    /// When the client is more than half the window ahead, a signature is made so that the server catches up; the result
    /// still tells what was found. What cannot be repaired is reported here and thrown by signatures; see
    /// ``CounterComparison``.
    public func status() async throws -> ActivationStatus {
        try self.checkNotRemoved()
        let status = try await self.fetchStatus()
        if !status.counter.canSign { self.settledCounter = nil }
        guard status.state == .active, status.counter.result == .signatureRecommended else { return status }
        return try await self.takingTurn { audience in
            // Signatures made while this one waited for its turn may have done it already.
            let status = try await self.fetchStatus()
            guard status.counter.result == .signatureRecommended else { return status }
            try audience.checkIsWaiting()
            return try await self.letServerCatchUp() ?? status
        }
    }

    /// One status request. Moves the counter forward when the server is ahead, which is safe at any time: the store
    /// compares with the counter as it then stands, and forward is the only direction.
    nonisolated func fetchStatus() async throws -> ActivationStatus {
        let path = "/pa/v3/activation/status"
        let challenge = self.server.randomness.bytes(16)
        let request = StatusRequest(activationId: self.activationID, challenge: Base64.encode(challenge))
        let (blob, customObject) = try await self.server.ask(path, request, returning: StatusResponse.self) { answer in
            (try self.readBlob(answer, of: path, challenge: challenge), answer.customObject)
        }
        let comparison = try await self.compareCounter(with: blob)
        self.server.observer?.counterCompared(
            activationID: self.activationID,
            distance: comparison.distance,
            window: comparison.window
        )
        return ActivationStatus(
            state: blob.state,
            failedAttempts: Int(blob.failedAttempts),
            maximumFailedAttempts: Int(blob.maxFailedAttempts),
            counter: comparison,
            customObject: customObject
        )
    }

    private nonisolated func readBlob(
        _ answer: StatusResponse,
        of path: String,
        challenge: [UInt8]
    ) throws -> ActivationStatusBlob {
        try MobileTokenError.reading(path) {
            guard answer.activationId.isExactly(self.activationID),
                let encrypted = Base64.decode(answer.encryptedStatusBlob),
                let nonce = Base64.decode(answer.nonce)
            else { throw MobileTokenError.invalidResponse("The answer of \(path) is not about this activation") }
            return try ActivationStatusBlob(
                decrypting: encrypted,
                transportKey: self.identity.transportKey,
                challenge: challenge,
                nonce: nonce
            )
        }
    }

    private nonisolated func compareCounter(with blob: ActivationStatusBlob) async throws -> CounterComparison {
        let stored = try await self.storedRecord()
        var record = stored
        let comparison = try MobileTokenError.computing { try record.synchronize(with: blob) }
        guard record != stored else { return comparison }
        // A signature may have moved the counter since it was read: compare again in the step that writes.
        return try await self.updateRecord { record in
            try MobileTokenError.computing { try record.synchronize(with: blob) }
        }
    }

    private struct StatusRequest: Encodable {
        let activationId: String
        let challenge: String
    }

    private struct StatusResponse: Decodable {
        let activationId: String
        let encryptedStatusBlob: String
        let nonce: String
        let customObject: JSONValue?
    }
}
