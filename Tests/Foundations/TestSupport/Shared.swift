internal import Synchronization

/// A value that several tasks of a test read and write.
package final class Shared<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    package init(_ value: Value) { self.storage = Mutex(value) }

    package var value: Value {
        get { self.storage.withLock { $0 } }
        set { self.storage.withLock { $0 = newValue } }
    }

    @discardableResult
    package func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
        self.storage.withLock { change(&$0) }
    }
}

extension Shared<Bool> {
    /// Returns the value, which is `false` from now on.
    package func take() -> Bool {
        self.update { value in
            defer { value = false }
            return value
        }
    }
}
