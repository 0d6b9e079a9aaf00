/// The number of counter values that a server tries, starting at its own.
package enum LookAhead {
    /// The servers' default.
    package static let standard = 20
    /// The allowed range. A larger number in a status would move the client's counter too far.
    package static let range = 1...64
}
