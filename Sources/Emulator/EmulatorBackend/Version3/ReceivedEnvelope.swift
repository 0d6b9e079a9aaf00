import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

extension Version3 {
    /// The envelope of an encrypted request as real servers read it: strings and a number.
    struct ReceivedEnvelope {
        private static let members: Set<String> = [
            "temporaryKeyId", "ephemeralPublicKey", "encryptedData", "mac", "nonce", "timestamp",
        ]

        private let temporaryKeyID: String?
        private let ephemeralPublicKey: String?
        private let encryptedData: String?
        private let mac: String?
        private let nonce: String?
        private let timestamp: Int64?

        /// - Throws: A refusal of an unreadable member.
        init(_ object: JSONObject) throws(Refusal) {
            self.temporaryKeyID = try object.optionalString("temporaryKeyId")
            self.ephemeralPublicKey = try object.optionalString("ephemeralPublicKey")
            self.encryptedData = try object.optionalString("encryptedData")
            self.mac = try object.optionalString("mac")
            self.nonce = try object.optionalString("nonce")
            self.timestamp = try object.optionalLong("timestamp")
        }

        /// Reads the envelope of an annotated endpoint, which refuses unknown members.
        init(strictly object: JSONObject) throws(Refusal) {
            try object.refuseMembers(except: Self.members)
            do throws(Refusal) { try self.init(object) } catch { throw .encryption(error.reason) }
        }

        /// Throws if a member that a version requires is missing. Standard calls check that before opening.
        func checkMembers(of version: ProtocolVersion) throws(Refusal) {
            var missing: [String] = []
            if self.nonce == nil { missing.append("nonce") }
            if version.usesTimestamps, self.timestamp == nil { missing.append("timestamp") }
            if version.usesTemporaryKeys, self.temporaryKeyID == nil { missing.append("temporaryKeyId") }
            guard let member = missing.first else { return }
            throw .authentication("'\(member)' is missing in an envelope of version \(version.rawValue)")
        }

        /// The request; `nil` if a member is missing or not Base64.
        var request: ECIESRequest? {
            func bytes(_ text: String?) -> [UInt8]? { text.flatMap(Base64.decodeTolerantly) }
            guard let ephemeralPublicKey = bytes(self.ephemeralPublicKey),
                let encryptedData = bytes(self.encryptedData),
                let mac = bytes(self.mac), let nonce = bytes(self.nonce)
            else { return nil }
            return ECIESRequest(
                temporaryKeyID: self.temporaryKeyID,
                ephemeralPublicKey: ephemeralPublicKey,
                encryptedData: encryptedData,
                mac: mac,
                nonce: nonce,
                timestamp: self.timestamp
            )
        }
    }
}
