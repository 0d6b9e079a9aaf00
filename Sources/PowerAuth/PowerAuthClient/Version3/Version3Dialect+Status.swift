import Basics
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

extension Version3Dialect {
    func statusQuery() throws -> StatusQuery {
        let path = try ServerEndpoint.activationStatus3.path(in: self.version)
        let challenge = self.randomness.bytes(ActivationStatusBlob.challengeByteCount)
        let content = StatusRequest(activationId: self.activationID, challenge: Base64.encode(challenge))
        return StatusQuery(request: try EndpointRequest(.activationStatus3, content)) { bytes in
            let response = try Wire.decode(Wire.Response<StatusResponse>.self, from: bytes, of: path).responseObject
            let blob = try self.readBlob(response, of: path, challenge: challenge)
            return StatusReport(
                blob,
                counterHashKey: try MobileTokenError.mapCryptoErrors {
                    try HashCounter.hashKey(transportKey: self.transportKey)
                },
                customObject: response.customObject,
                isUpgradeOffered: blob.upgradeVersion == Version4.major
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
