import Basics
import Coordination
import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

extension Activation {
    /// Asks the server for the activation's state, and brings the counter in step when it is not.
    ///
    /// When the client is more than half the window ahead, a signature is made so that the server catches up; the result
    /// still says what was found. What cannot be repaired is reported here and thrown by signatures; see
    /// ``CounterComparison``.
    public func status() async throws -> ActivationStatus {
        try self.checkNotRemoved()
        let status = try await self.fetchStatus().status
        if !status.counter.canSign { self.counterKnowledge.forget() }
        guard status.state == .active, status.counter.result == .signatureRecommended else { return status }
        return try await self.withSigningTurn { turn, caller in
            // Signatures made while this one waited for its turn may have done it already.
            let status = try await self.fetchStatus().status
            guard status.counter.result == .signatureRecommended else { return status }
            try caller.checkIsWaiting()
            return try await self.letServerCatchUp(in: turn)?.status ?? status
        }
    }

    /// A status, and the counter as the comparison with it left it.
    struct ComparedStatus: Sendable {
        let status: ActivationStatus
        let counter: HashCounter
    }

    /// Makes one status request. Moves the counter forward when the server is ahead, which is safe at any time: the
    /// store compares with the counter as it then stands, and forward is the only direction.
    nonisolated func fetchStatus() async throws -> ComparedStatus {
        let path = "/pa/v3/activation/status"
        let challenge = self.server.randomness.bytes(16)
        let request = StatusRequest(activationId: self.activationID, challenge: Base64.encode(challenge))
        let (blob, customObject) = try await self.server.ask(
            path,
            for: self.activationID,
            request,
            returning: StatusResponse.self
        ) { response in
            (try self.readBlob(response, of: path, challenge: challenge), response.customObject)
        }
        let (comparison, counter) = try await self.compareCounter(with: blob)
        self.observer?.counterCompared(comparison, of: self.activationID)
        let status = ActivationStatus(
            state: blob.state,
            failedAttempts: Int(blob.failedAttempts),
            maximumFailedAttempts: Int(blob.maxFailedAttempts),
            counter: comparison,
            customObject: customObject
        )
        return ComparedStatus(status: status, counter: counter)
    }

    private nonisolated func readBlob(
        _ response: StatusResponse,
        of path: String,
        challenge: [UInt8]
    ) throws -> ActivationStatusBlob {
        try MobileTokenError.mapErrors(ofResponse: path) {
            guard response.activationId.isExactly(self.activationID),
                let encrypted = Base64.decode(response.encryptedStatusBlob),
                let nonce = Base64.decode(response.nonce)
            else { throw MobileTokenError.invalidResponse("The response to \(path) is not about this activation") }
            do throws(ActivationStatusError) {
                return try ActivationStatusBlob(
                    decrypting: encrypted,
                    transportKey: self.identity.transportKey,
                    challenge: challenge,
                    nonce: nonce
                )
            } catch .unsupportedVersion(let version) {
                let what = "The activation is of version \(version) of the protocol, which this client does not speak"
                throw MobileTokenError.invalidResponse(what)
            }
        }
    }

    private nonisolated func compareCounter(
        with blob: ActivationStatusBlob
    ) async throws -> (comparison: CounterComparison, counter: HashCounter) {
        let transportKey = self.identity.transportKey
        let stored = try await self.storedRecord().ledger
        var ledger = stored
        let comparison = try MobileTokenError.mapCryptoErrors {
            try ledger.compare(with: blob, transportKey: transportKey)
        }
        guard ledger != stored else { return (comparison, ledger.counter) }
        // A signature may have moved the counter since it was read: compare again in the step that writes.
        return try await self.updateRecord { record in
            let comparison = try MobileTokenError.mapCryptoErrors {
                try record.ledger.compare(with: blob, transportKey: transportKey)
            }
            return (comparison, record.ledger.counter)
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
