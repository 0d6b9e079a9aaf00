/// The keys that protect an encrypted request.
public enum EncryptionScope: Sendable, Hashable {
    /// The application's keys. No activation is needed.
    case application
    /// The activation's keys, which both sides prove to know.
    case activation
}
