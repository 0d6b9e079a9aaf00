import ExactJSON
package import PowerAuthCrypto
import PowerAuthProtocol

/// What a status says, in whichever version of the protocol it came.
struct StatusReport: Sendable {
    let state: ActivationState
    let failedAttempts: Int
    let maximumFailedAttempts: Int
    let counter: ReportedCounter
    let customObject: JSONValue?
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
