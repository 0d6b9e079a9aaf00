/// Version 4.0 of the protocol, where it differs from version 3.
package enum Version4 {
    /// The version as it stands in headers and in the input of keys.
    package static let name = "4.0"
    /// The version as it stands in the status of an activation.
    package static let major: UInt8 = 4
}
