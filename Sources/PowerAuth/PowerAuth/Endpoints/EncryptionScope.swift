import PowerAuthProtocol

/// The keys that encrypt a request.
public enum EncryptionScope: Sendable, Hashable {
    /// The application's keys. No activation is needed.
    case application
    /// The activation's keys. Both sides prove that they know them.
    case activation

    var envelope: EnvelopeScope { self == .application ? .application : .activation }
}
