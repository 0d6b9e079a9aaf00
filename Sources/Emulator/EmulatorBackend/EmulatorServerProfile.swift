/// The generation of real servers that the development server emulates.
///
/// All differences between their releases are decided here.
public struct EmulatorServerProfile: Sendable, Codable, Hashable {
    /// A release of the real servers.
    public enum Release: String, Sendable, Codable, Hashable, CaseIterable, Comparable {
        /// Release 1.9.
        case v1_9 = "1.9"
        /// Release 1.10.
        case v1_10 = "1.10"
        /// Release 2.1.
        case v2_1 = "2.1"
        /// Release 2.2.
        case v2_2 = "2.2"

        /// The version in the server's status.
        var version: String { "\(self.rawValue).0" }

        /// Orders releases by age.
        public static func < (lhs: Self, rhs: Self) -> Bool { lhs.order < rhs.order }

        private var order: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// The release; the newest by default.
    public var release: Release

    /// Creates a profile.
    public init(_ release: Release = .v2_2) {
        self.release = release
    }
}
