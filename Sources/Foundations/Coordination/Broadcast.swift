public import Synchronization

/// A subscriber's unread inputs. They must not grow with the number of inputs: a slow subscriber gets them merged, or its
/// subscription ends.
public protocol SubscriptionBuffer: Sendable {
    associatedtype Input: Sendable
    associatedtype Element: Sendable
    /// The reason for ending subscriptions.
    associatedtype EndReason: Sendable = Never

    /// Returns whether the subscriber wants an input.
    func accepts(_ input: Input) -> Bool
    mutating func append(_ input: Input)
    mutating func removeFirst() -> Element?
    /// Indicates that an input had no room. The subscription then ends after the kept elements, and nothing more is appended.
    var hasOverflowed: Bool { get }
}

extension SubscriptionBuffer {
    /// Returns `true`: a buffer takes everything by default.
    @inlinable public func accepts(_ input: Input) -> Bool { true }
    /// `false`: a buffer drops nothing by default.
    @inlinable public var hasOverflowed: Bool { false }
}

/// Sends inputs to any number of subscribers that read at their own speed.
///
/// Subscribing and sending exclude each other, so nothing falls between what a subscription starts with and what
/// follows. Subscriptions end when the broadcast is finished or its owner lets it go, and are forgotten when their
/// reader lets them go. Readers are woken outside the lock: an executor may run them on the spot.
///
/// Its code can be inlined for the reason that ``DeadlineQueue`` is public: each poll sends.
public final class Broadcast<Buffer: SubscriptionBuffer>: Sendable {
    @usableFromInline struct State: Sendable {
        /// The buffer that a new subscriber starts with.
        @usableFromInline var start: Buffer
        @usableFromInline var mailboxes: [UInt64: Mailbox<Buffer>] = [:]
        @usableFromInline var nextID: UInt64 = 0
        @usableFromInline var isFinished = false
        @usableFromInline var endReason: Buffer.EndReason?

        @inlinable init(start: Buffer) { self.start = start }

        @inlinable mutating func join(_ adapt: (Buffer) -> Buffer) -> Place {
            let mailbox = Mailbox(adapt(self.start), isFinished: self.isFinished)
            self.nextID += 1
            if !self.isFinished { self.mailboxes[self.nextID] = mailbox }
            return Place(
                id: self.nextID,
                mailbox: mailbox,
                isFirst: !self.isFinished && self.mailboxes.count == 1
            )
        }
    }

    /// A new subscriber's.
    @usableFromInline struct Place: Sendable {
        @usableFromInline let id: UInt64
        @usableFromInline let mailbox: Mailbox<Buffer>
        @usableFromInline let isFirst: Bool

        @inlinable init(id: UInt64, mailbox: Mailbox<Buffer>, isFirst: Bool) {
            self.id = id
            self.mailbox = mailbox
            self.isFirst = isFirst
        }
    }

    @usableFromInline let state: Mutex<State>
    /// Called when the first subscriber comes and when the last one goes.
    @usableFromInline let observed: @Sendable (Bool) -> Void

    /// Creates a broadcast without subscribers.
    @inlinable public init(startingWith start: Buffer, observed: @escaping @Sendable (Bool) -> Void = { _ in }) {
        self.state = Mutex(State(start: start))
        self.observed = observed
    }

    @inlinable deinit { self.finish() }

    /// The number of subscribers.
    @inlinable public var subscriberCount: Int { self.state.withLock { $0.mailboxes.count } }

    /// The reason subscriptions ended last, if there was a reason.
    @inlinable public var endReason: Buffer.EndReason? { self.state.withLock { $0.endReason } }

    /// Begins a subscription. In a finished broadcast it ends after its initial elements.
    ///
    /// - Parameter adapt: Makes the subscriber's buffer of the one that all start with.
    @inlinable public func subscribe(_ adapt: (Buffer) -> Buffer = { $0 }) -> Subscription<Buffer> {
        self.subscription(self.state.withLock { $0.join(adapt) })
    }

    /// Begins a subscription, or returns `nil` when there are `limit` subscribers already.
    @inlinable public func subscribe(unlessThereAre limit: Int) -> Subscription<Buffer>? {
        let place = self.state.withLock { $0.mailboxes.count < limit ? $0.join { $0 } : nil }
        return place.map { self.subscription($0) }
    }

    @inlinable func subscription(_ place: Place) -> Subscription<Buffer> {
        if place.isFirst { self.observed(true) }
        let id = place.id
        return Subscription(place.mailbox) { [weak self] in self?.unsubscribe(id) }
    }

    @inlinable func unsubscribe(_ id: UInt64) {
        let isLast = self.state.withLock { $0.mailboxes.removeValue(forKey: id) != nil && $0.mailboxes.isEmpty }
        if isLast { self.observed(false) }
    }

    /// Sends to every subscriber, and sets what later ones start with, if that changes.
    @inlinable public func send(_ input: Buffer.Input, startingWith start: Buffer? = nil) {
        self.send { current in
            if let start { current = start }
            return input
        }
    }

    /// Sends what `change` returns to every subscriber, once it has changed what later ones start with.
    @inlinable public func send(_ change: (inout Buffer) -> Buffer.Input?) {
        let mailboxes: [Mailbox<Buffer>] = self.state.withLock { state in
            guard let input = change(&state.start) else { return [] }
            // Under the lock, so that two sends cannot reach a mailbox in the wrong order.
            return state.mailboxes.values.filter { $0.append(input) }
        }
        for mailbox in mailboxes { mailbox.wake() }
    }

    /// Sets what later subscribers start with, and changes what the others have not read yet, which is news to none of
    /// them.
    @inlinable public func revise(startingWith start: Buffer, _ change: (inout Buffer) -> Void) {
        self.state.withLock { state in
            state.start = start
            for mailbox in state.mailboxes.values { mailbox.change(change) }
        }
    }

    /// Ends every subscription after what it has not read yet, and later ones after what they start with.
    @inlinable public func finish(_ reason: Buffer.EndReason? = nil) {
        let mailboxes = self.state.withLock { state in
            state.isFinished = true
            state.endReason = reason ?? state.endReason
            defer { state.mailboxes = [:] }
            return Array(state.mailboxes.values)
        }
        for mailbox in mailboxes { mailbox.finish() }
        if !mailboxes.isEmpty { self.observed(false) }
    }

    /// Lets new subscriptions follow again. Those that ended stay ended, and the reason stays known.
    @inlinable public func reopen() {
        self.state.withLock { $0.isFinished = false }
    }

    /// Forgets why subscriptions ended before.
    @inlinable public func forgetEndReason() {
        self.state.withLock { $0.endReason = nil }
    }
}

/// A subscriber's entry in a ``Broadcast``. Releasing it ends the subscription.
public final class Subscription<Buffer: SubscriptionBuffer>: Sendable {
    @usableFromInline let mailbox: Mailbox<Buffer>
    @usableFromInline let unsubscribe: @Sendable () -> Void

    @inlinable init(_ mailbox: Mailbox<Buffer>, unsubscribe: @escaping @Sendable () -> Void) {
        self.mailbox = mailbox
        self.unsubscribe = unsubscribe
    }

    @inlinable deinit { self.unsubscribe() }

    /// The next element; `nil` at the end, or when the calling task is canceled.
    @inlinable public func next() async -> Buffer.Element? {
        await self.mailbox.next()
    }

    /// The subscription as a stream for one reader. Unread elements wait, merged, in the subscription's buffer.
    ///
    /// The subscription ends when the stream and its iterator are let go, or when a task that reads it is canceled.
    @inlinable public var stream: AsyncStream<Buffer.Element> { AsyncStream { await self.next() } }

    /// The subscription as a stream of what `transform` makes of its elements, without those of which it makes nothing.
    @inlinable public func stream<Element>(
        of transform: @escaping @Sendable (Buffer.Element) -> Element?
    ) -> AsyncStream<Element> {
        AsyncStream {
            while let element = await self.next() {
                if let transformed = transform(element) { return transformed }
            }
            return nil
        }
    }
}

@usableFromInline final class Mailbox<Buffer: SubscriptionBuffer>: Sendable {
    @usableFromInline struct State: Sendable {
        @usableFromInline var buffer: Buffer
        @usableFromInline var isFinished: Bool

        @inlinable init(buffer: Buffer, isFinished: Bool) {
            self.buffer = buffer
            self.isFinished = isFinished
        }
    }

    @usableFromInline let state: Mutex<State>
    @usableFromInline let signal = Signal()

    @inlinable init(_ buffer: Buffer, isFinished: Bool) {
        self.state = Mutex(State(buffer: buffer, isFinished: isFinished))
    }

    /// Appends an input without resuming the reader, because the caller may hold a lock; see ``wake()``.
    ///
    /// - Returns: `false` when it is of no interest to the reader.
    @inlinable func append(_ input: Buffer.Input) -> Bool {
        self.state.withLock { state in
            guard state.buffer.accepts(input) else { return false }
            if !state.buffer.hasOverflowed { state.buffer.append(input) }
            return true
        }
    }

    /// Changes what is not read yet.
    @inlinable func change(_ body: (inout Buffer) -> Void) {
        self.state.withLock { body(&$0.buffer) }
    }

    @inlinable func wake() {
        self.signal.raise()
    }

    @inlinable func finish() {
        self.state.withLock { $0.isFinished = true }
        self.signal.raise()
    }

    @inlinable func next() async -> Buffer.Element? {
        while !Task.isCancelled {
            let (element, isFinished) = self.state.withLock { state in
                (state.buffer.removeFirst(), state.isFinished || state.buffer.hasOverflowed)
            }
            if let element { return element }
            if isFinished {
                self.signal.raise()  // another task may wait on a copy of the iterator
                return nil
            }
            guard await self.signal.wait() else { return nil }
        }
        return nil
    }
}
