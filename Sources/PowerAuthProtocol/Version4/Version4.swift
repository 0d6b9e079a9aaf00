/// The parts of the protocol that are of version 4.0 alone.
package enum Version4 {
    /// The version as it stands in headers and in what keys are derived from.
    package static let name = "4.0"
    /// The version as it stands in the status of an activation.
    package static let major: UInt8 = 4
}
