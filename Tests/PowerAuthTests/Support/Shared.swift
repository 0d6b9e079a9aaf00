import Synchronization

/// A value that several tasks of a test read and write.
final class Shared<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    init(_ value: Value) { self.storage = Mutex(value) }

    var value: Value { self.storage.withLock { $0 } }

    func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        self.storage.withLock { change(&$0) }
    }

    func set(_ value: Value) { self.storage.withLock { $0 = value } }
}

/// Waits for a condition that other tasks bring about, and leaves them the processor meanwhile.
func until(_ condition: () -> Bool) async {
    while !Task.isCancelled, !condition() {
        // The length of the pause is of no meaning: only the condition ends the wait.
        if (try? await Task.sleep(for: .microseconds(300))) == nil { await Task.yield() }
    }
}

extension Mutex where Value: Sendable {
    /// The value as it stands.
    var value: Value { self.withLock { $0 } }
}
