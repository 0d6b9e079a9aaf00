import ExactJSON
import Foundation
package import PowerAuthCrypto
package import PowerAuthProtocol

/// The content of a status, the same in every version of the protocol.
struct StatusReport: Sendable {
    let state: ActivationState
    let failedAttempts: Int
    let maximumFailedAttempts: Int
    let counter: ReportedCounter
    let customObject: JSONValue?
    /// The major version of the protocol in which the server knows the activation.
    let serverVersion: UInt8
    /// Indicates whether the server offers to upgrade the activation to a newer version.
    let isUpgradeOffered: Bool
    var flags: ActivationStatus.Flags = []
    /// The time when a block that is temporary ends.
    var blockedUntil: Date?

    /// Reads the fields that every version has.
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

/// The server's counter as a status reports it.
package struct ReportedCounter: Sendable {
    /// The counter modulo 256.
    package let byte: UInt8
    package let hash: [UInt8]
    /// The key of the hash.
    package let key: SecretBytes
    /// The number of counters that the server tries, beginning with its own.
    package let lookAhead: UInt8

    package init(_ blob: ActivationStatusBlob, key: SecretBytes) {
        self.byte = blob.counterByte
        self.hash = blob.counterHash
        self.key = key
        self.lookAhead = blob.lookAhead
    }
}
