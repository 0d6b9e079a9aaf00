/// The number of counters that a server tries when it verifies, beginning with its own.
package enum LookAhead {
    /// The number that servers use unless configured otherwise.
    package static let standard = 20
    /// The numbers that a server may use. A larger one in a status would move the client's counter far.
    package static let range = 1...64
}
