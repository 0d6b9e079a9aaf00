/// A PowerAuth protocol version that client and server support.
public enum ProtocolVersion: String, Sendable, Hashable, CaseIterable, Codable {
    /// Encrypted requests have their own nonce.
    case v3_1 = "3.1"
    /// Adds timestamps and associated data to encrypted requests.
    case v3_2 = "3.2"
    /// Adds temporary encryption keys.
    case v3_3 = "3.3"
    /// Key agreement with P-384 and, depending on the suite, post-quantum algorithms.
    case v4_0 = "4.0"

    /// The versions before 4, with the same keys, messages and headers.
    package static let version3: [Self] = [.v3_1, .v3_2, .v3_3]

    package var isVersion3: Bool { Self.version3.contains(self) }
    /// Indicates whether encrypted messages contain a timestamp, and tokens sign the version.
    package var usesTimestamps: Bool { self != .v3_1 }
    /// Indicates whether requests are encrypted with temporary keys.
    package var usesTemporaryKeys: Bool { self == .v3_3 || self == .v4_0 }
}
