import ExactJSON
import Foundation
package import PowerAuthCrypto
import PowerAuthProtocol

/// What a status says, in whichever version of the protocol it came.
struct StatusReport: Sendable {
    let state: ActivationState
    let failedAttempts: Int
    let maximumFailedAttempts: Int
    let counter: ReportedCounter
    let customObject: JSONValue?
    /// The major version of the protocol in which the server knows the activation.
    let serverVersion: UInt8
    /// Whether the server offers to upgrade the activation to a newer version.
    var isUpgradeOffered = false
    var flags: ActivationStatus.Flags = []
    /// When a block that is temporary ends.
    var blockedUntil: Date?
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
    /// Whether the hash means anything: activations of version 2 count without.
    package var isComparable = true
}
