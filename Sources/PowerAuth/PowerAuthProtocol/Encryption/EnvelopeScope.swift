/// The keys that encrypt a request.
package enum EnvelopeScope: Sendable, Hashable {
    /// The application's keys. No activation is needed.
    case application
    /// The activation's keys. Both sides prove that they know them.
    case activation
}
