/// A version of the PowerAuth protocol that client and server can use.
public enum ProtocolVersion: String, Sendable, Hashable, CaseIterable, Codable {
    /// Encrypted requests have their own nonce.
    case v3_1 = "3.1"
    /// Adds timestamps and associated data to encrypted requests.
    case v3_2 = "3.2"
    /// Adds temporary encryption keys.
    case v3_3 = "3.3"

    /// Whether encrypted requests and responses carry a timestamp, and tokens sign the version.
    package var usesTimestamps: Bool { self != .v3_1 }
    /// Whether requests are encrypted for a temporary key fetched from the server.
    package var usesTemporaryKeys: Bool { self == .v3_3 }
}
