/// The order in which others see memory change. A lock gives the strictest whatever is asked for.
public enum AtomicOrdering: Sendable {
    case relaxed, acquiring, releasing, acquiringAndReleasing, sequentiallyConsistent
}

/// The part of the standard `Atomic` that is used here, behind a lock.
///
/// It would be seen as it is; but a module that stands in for another cannot import it.
public struct Atomic<Value: Sendable & Equatable>: ~Copyable, Sendable {
    private let value: Mutex<Value>

    /// Creates an atomic value.
    public init(_ initialValue: Value) { self.value = Mutex(initialValue) }

    /// The value.
    public func load(ordering: AtomicOrdering) -> Value { self.value.withLock { $0 } }

    /// Sets the value.
    public func store(_ desired: Value, ordering: AtomicOrdering) { self.value.withLock { $0 = desired } }

    /// Sets the value, and returns what it was.
    public func exchange(_ desired: Value, ordering: AtomicOrdering) -> Value {
        self.value.withLock { value in
            defer { value = desired }
            return value
        }
    }
}

extension Atomic where Value: FixedWidthInteger {
    /// Adds, and returns the values before and after.
    @discardableResult
    public func add(_ operand: Value, ordering: AtomicOrdering) -> (oldValue: Value, newValue: Value) {
        self.value.withLock { value in
            let old = value
            value += operand
            return (old, value)
        }
    }

    /// Subtracts, and returns the values before and after.
    @discardableResult
    public func subtract(_ operand: Value, ordering: AtomicOrdering) -> (oldValue: Value, newValue: Value) {
        self.value.withLock { value in
            let old = value
            value -= operand
            return (old, value)
        }
    }
}
