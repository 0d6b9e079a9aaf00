/// The release of a server's software, such as 1.9.
package struct ServerRelease: Sendable, Hashable, Comparable {
    package let major: Int
    package let minor: Int

    package init(_ major: Int, _ minor: Int) { (self.major, self.minor) = (major, minor) }

    /// Parses a version, such as `1.9.0` or `2.0.1-SNAPSHOT`; `nil` if malformed.
    package init?(_ version: String) {
        let parts = version.split(separator: ".", omittingEmptySubsequences: false).prefix(2).map { Int($0) }
        guard parts.count == 2, let major = parts[0], let minor = parts[1], major >= 0, minor >= 0 else { return nil }
        self.init(major, minor)
    }

    package static func < (lhs: Self, rhs: Self) -> Bool { (lhs.major, lhs.minor) < (rhs.major, rhs.minor) }
}
