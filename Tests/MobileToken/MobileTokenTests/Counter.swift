import Synchronization

final class Counter: Sendable {
    private let count = Mutex(0)

    var value: Int { self.count.withLock { $0 } }

    func increment() { self.count.withLock { $0 += 1 } }
}
