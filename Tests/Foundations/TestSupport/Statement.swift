/// One statement of the page that says how outside input is read, beside the check that it holds.
///
/// Tests take these as arguments, in the page's order, so that page and test can be compared line by line.
package struct Statement: Sendable, CustomStringConvertible {
    package let description: String
    package let holds: @Sendable () throws -> Bool

    package init(_ text: String, _ holds: @escaping @Sendable () throws -> Bool) {
        self.description = text
        self.holds = holds
    }
}
