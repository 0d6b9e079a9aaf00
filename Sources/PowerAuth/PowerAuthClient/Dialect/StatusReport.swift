import ExactJSON
import Foundation
package import PowerAuthCrypto
package import PowerAuthProtocol

struct StatusReport: Sendable {
    let state: ActivationState
    let failedAttempts: Int
    let maximumFailedAttempts: Int
    let counter: ReportedCounter
    let customObject: JSONValue?
    /// The major protocol version in which the server knows the activation.
    let serverVersion: UInt8
    let isUpgradeOffered: Bool
    var flags: ActivationStatus.Flags = []
    /// When a temporary block ends.
    var blockedUntil: Date?

    /// Reads the fields common to all versions.
    init(
        _ blob: ActivationStatusBlob,
        counterHashKey: SecretBytes,
        customObject: JSONValue?,
        isUpgradeOffered: Bool = false
    ) {
        self.state = blob.state
        self.failedAttempts = Int(blob.failedAttempts)
        self.maximumFailedAttempts = Int(blob.maxFailedAttempts)
        self.counter = ReportedCounter(blob, key: counterHashKey)
        self.customObject = customObject
        self.serverVersion = blob.currentVersion
        self.isUpgradeOffered = isUpgradeOffered
    }
}

package struct ReportedCounter: Sendable {
    /// The counter modulo 256.
    package let byte: UInt8
    package let hash: [UInt8]
    package let key: SecretBytes
    /// The number of counter values that the server tries, starting at its own.
    package let lookAhead: UInt8

    package init(_ blob: ActivationStatusBlob, key: SecretBytes) {
        self.byte = blob.counterByte
        self.hash = blob.counterHash
        self.key = key
        self.lookAhead = blob.lookAhead
    }
}
