import Glibc

/// The standard `Mutex` on a lock that the thread sanitizer knows.
public struct Mutex<Value: ~Copyable>: ~Copyable {
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    /// Creates a mutex around a value.
    public init(_ initialValue: consuming sending Value) {
        self.lock = .allocate(capacity: 1)
        self.lock.initialize(to: pthread_mutex_t())
        precondition(pthread_mutex_init(self.lock, nil) == 0)
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: initialValue)
    }

    deinit {
        pthread_mutex_destroy(self.lock)
        self.lock.deallocate()
        self.value.deinitialize(count: 1)
        self.value.deallocate()
    }

    /// Calls `body` with the value while no other thread has it.
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(self.lock)
        defer { pthread_mutex_unlock(self.lock) }
        return try body(&self.value.pointee)
    }

    /// Calls `body` as ``withLock(_:)`` does, unless another thread has the value.
    public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard pthread_mutex_trylock(self.lock) == 0 else { return nil }
        defer { pthread_mutex_unlock(self.lock) }
        return try body(&self.value.pointee)
    }
}

// The value is reached under the lock only, and what goes in and comes out is `sending`.
extension Mutex: @unchecked Sendable where Value: ~Copyable {}
