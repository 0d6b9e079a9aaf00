import Synchronization

extension Mutex where Value: Sendable {
    /// The value as it stands.
    var value: Value { self.withLock { $0 } }
}
