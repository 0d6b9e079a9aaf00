/// The parts of the protocol specific to version 4.0.
package enum Version4 {
    /// The version in headers and key derivations.
    package static let name = "4.0"
    /// The version in an activation's status.
    package static let major: UInt8 = 4
}
