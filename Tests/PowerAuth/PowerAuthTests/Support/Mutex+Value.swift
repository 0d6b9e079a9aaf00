import Synchronization

extension Mutex where Value: Sendable {
    var value: Value { self.withLock { $0 } }
}
