import Basics
import Foundation
package import PowerAuthClient
import PowerAuthCrypto
import PowerAuthProtocol

extension ActivationStoreConformance {
    /// Returns a record with all values. Records with other `secrets` differ in every secret.
    package static func record(_ activationID: String, secrets: UInt8 = 1) -> ActivationRecord {
        func secret(_ offset: UInt8, count: Int = 16) -> SecretBytes {
            SecretBytes(copying: [UInt8](repeating: secrets &+ offset, count: count))
        }
        return ActivationRecord(
            activationID: activationID,
            name: "Wallet \u{1F4B3} of \(activationID)",
            applicationKey: "aGVsbG8gd29ybGQhISEhIQ==",
            createdAt: Date(timeIntervalSinceReferenceDate: 781_234_567.890_123),
            keys: .version3(
                Version3Keys(
                    version: .v3_3,
                    devicePublicKey: [2] + [UInt8](repeating: 0x5A, count: 32),
                    serverPublicKey: [3] + [UInt8](repeating: 0xA5, count: 32),
                    possessionKey: secret(0),
                    transportKey: secret(1),
                    encryptedKnowledgeKey: secret(2),
                    knowledgeSalt: [UInt8](repeating: 9, count: 16),
                    encryptedBiometryKey: secret(3),
                    encryptedDevicePrivateKey: secret(4, count: 48)
                )
            ),
            counter: .version3(HashCounter(data: secret(5), byte: 250)),
            history: CounterHistory(moves: 506, confirmedMoves: 505),
            isUnsettled: true,
            tokens: ["possession_universal": ActivationRecord.Token(id: "b3c5…", secret: secret(6))]
        )
    }

    /// Returns a record without optional values.
    package static func sparseRecord(_ activationID: String) -> ActivationRecord {
        var record = self.record(activationID)
        record.version3?.encryptedBiometryKey = nil
        return ActivationRecord(
            activationID: activationID,
            name: nil,
            applicationKey: record.applicationKey,
            createdAt: record.createdAt,
            keys: record.keys,
            counter: record.counter
        )
    }
}

extension ActivationStoreConformance {
    /// Returns a version 4 record in each possible state.
    package static func version4Records(_ prefix: String) -> [ActivationRecord] {
        let before = self.record(prefix)
        let pending: [Version4Keys.PendingConfirmation?] = [
            nil, .activation,
            before.version3.map { .upgrade(from: Version4Keys.Version3State(keys: $0, ledger: before.ledger)) },
        ]
        return pending.enumerated().flatMap { index, pending in
            [true, false].map { isHybrid in
                self.version4Record("\(prefix)-\(index)-\(isHybrid)", isHybrid: isHybrid, pending: pending)
            }
        }
    }

    private static func version4Record(
        _ activationID: String,
        isHybrid: Bool,
        pending: Version4Keys.PendingConfirmation?
    ) -> ActivationRecord {
        func secret(_ byte: UInt8, count: Int = 32) -> SecretBytes {
            SecretBytes(copying: [UInt8](repeating: byte, count: count))
        }
        func publicKeys(_ byte: UInt8) -> Version4.SigningKeysMessage {
            Version4.SigningKeysMessage(
                ecdsa: [UInt8](repeating: byte, count: 97),
                mldsa: isHybrid ? [UInt8](repeating: byte, count: 1974) : nil
            )
        }
        return ActivationRecord(
            activationID: activationID,
            name: isHybrid ? "hybrid" : nil,
            applicationKey: "aGVsbG8gd29ybGQhISEhIQ==",
            createdAt: Date(timeIntervalSinceReferenceDate: 781_234_567.890_123),
            keys: .version4(
                Version4Keys(
                    suite: isHybrid ? .p384MLLevel3 : .p384,
                    devicePublicKeys: publicKeys(4),
                    serverPublicKeys: publicKeys(5),
                    possessionKey: secret(10),
                    utility: Version4.ActivationKeys.Utility(
                        counterHash: secret(11),
                        status: secret(12),
                        temporaryKeyRequest: secret(13),
                        personalizedData: secret(14),
                        sharedInfo2: secret(15),
                        application: secret(16)
                    ),
                    knowledgeKey: Version4.ProtectedKnowledgeKey(
                        salt: [UInt8](repeating: 9, count: 32),
                        wrappedKey: [UInt8](repeating: 8, count: 48)
                    ),
                    wrappedBiometryKey: isHybrid ? secret(17, count: 48) : nil,
                    sealedDeviceKeys: secret(18, count: 132),
                    pendingConfirmation: pending
                )
            ),
            counter: .version4(Version4.HashCounter(data: secret(19), byte: 250)),
            history: CounterHistory(moves: 506, confirmedMoves: 505),
            tokens: ["possession_universal": ActivationRecord.Token(id: "b3c5…", secret: secret(20))]
        )
    }
}

extension ActivationRecord {
    /// Moves the counter, and returns the previous step count: the value that a signature would use.
    @discardableResult
    package mutating func takeMove() -> UInt64 {
        defer { self.counter = .version3(HashCounter(data: self.counter.data, byte: self.counter.byte &+ 1)) }
        return self.history.moves
    }
}
