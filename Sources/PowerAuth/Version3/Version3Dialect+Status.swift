import Basics
import ExactJSON
package import PowerAuthCrypto
package import PowerAuthProtocol

extension Version3Dialect {
    func status() async throws -> StatusReport {
        let path = try ServerEndpoint.activationStatus3.path(in: self.version)
        let challenge = self.server.randomness.bytes(16)
        let request = StatusRequest(activationId: self.activationID, challenge: Base64.encode(challenge))
        return try await self.server.ask(
            path,
            for: self.activationID,
            request,
            returning: StatusResponse.self
        ) { response in
            let blob = try self.readBlob(response, of: path, challenge: challenge)
            return StatusReport(
                state: blob.state,
                failedAttempts: Int(blob.failedAttempts),
                maximumFailedAttempts: Int(blob.maxFailedAttempts),
                counter: try MobileTokenError.mapCryptoErrors {
                    try ReportedCounter(blob, transportKey: self.transportKey)
                },
                customObject: response.customObject,
                serverVersion: blob.currentVersion,
                isUpgradeOffered: blob.currentVersion == ActivationStatusBlob.newestVersion
                    && blob.upgradeVersion > ActivationStatusBlob.newestVersion
            )
        }
    }

    private func readBlob(
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
                    transportKey: self.transportKey,
                    challenge: challenge,
                    nonce: nonce
                )
            } catch .unsupportedVersion(let version) {
                throw MobileTokenError.invalidResponse(
                    "The activation is of version \(version) of the protocol at the server, and of version 3 in this store",
                    underlying: ActivationStatusError.unsupportedVersion(version)
                )
            }
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

extension ReportedCounter {
    package init(_ blob: ActivationStatusBlob, transportKey: SecretBytes) throws(CryptoError) {
        self.init(
            byte: blob.counterByte,
            hash: blob.counterHash,
            key: try HashCounter.hashKey(transportKey: transportKey),
            lookAhead: blob.lookAhead,
            isComparable: blob.currentVersion == ActivationStatusBlob.newestVersion
        )
    }
}
