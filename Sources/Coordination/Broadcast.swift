import Synchronization

/// The inputs that a subscriber has not read yet. They must not grow with the number of inputs: a slow subscriber gets them merged, or
/// its subscription ends.
public protocol SubscriptionBuffer: Sendable {
    associatedtype Input: Sendable
    associatedtype Element: Sendable
    /// The reason subscriptions may end.
    associatedtype EndReason: Sendable = Never

    /// Returns whether an input is of interest to the subscriber.
    func accepts(_ input: Input) -> Bool
    mutating func append(_ input: Input)
    mutating func removeFirst() -> Element?
    /// Indicates whether an input had no room. The subscription then ends after what was kept; nothing more is appended.
    var hasOverflowed: Bool { get }
}

extension SubscriptionBuffer {
    /// Returns `true`: a buffer takes everything by default.
    public func accepts(_ input: Input) -> Bool { true }
    /// `false`: a buffer drops nothing by default.
    public var hasOverflowed: Bool { false }
}

/// Hands what happens to any number of subscribers, each of whom reads at its own speed.
///
/// Subscribing and sending exclude each other, so nothing falls between what a subscription starts with and what
/// follows. Subscriptions end when the broadcast is finished or its owner lets it go, and are forgotten when their
/// reader lets them go. Readers are woken outside the lock: an executor may run them on the spot.
public final class Broadcast<Buffer: SubscriptionBuffer>: Sendable {
    private struct State {
        /// The buffer that a new subscriber starts with.
        var start: Buffer
        var mailboxes: [UInt64: Mailbox<Buffer>] = [:]
        var nextID: UInt64 = 0
        var isFinished = false
        var endReason: Buffer.EndReason?

        mutating func join(_ adapt: (Buffer) -> Buffer) -> Place {
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
    private struct Place {
        let id: UInt64
        let mailbox: Mailbox<Buffer>
        let isFirst: Bool
    }

    private let state: Mutex<State>
    /// Called when the first subscriber comes and when the last one goes.
    private let observed: @Sendable (Bool) -> Void

    /// Creates a broadcast without subscribers.
    public init(startingWith start: Buffer, observed: @escaping @Sendable (Bool) -> Void = { _ in }) {
        self.state = Mutex(State(start: start))
        self.observed = observed
    }

    deinit { self.finish() }

    /// The number of subscribers.
    public var subscriberCount: Int { self.state.withLock { $0.mailboxes.count } }

    /// The reason subscriptions ended last, if there was a reason.
    public var endReason: Buffer.EndReason? { self.state.withLock { $0.endReason } }

    /// Begins a subscription; one that ends after what it starts with when the broadcast is finished.
    ///
    /// - Parameter adapt: Makes the subscriber's buffer of the one that all start with.
    public func subscribe(_ adapt: (Buffer) -> Buffer = { $0 }) -> Subscription<Buffer> {
        self.subscription(self.state.withLock { $0.join(adapt) })
    }

    /// Begins a subscription, or returns `nil` when there are `limit` subscribers already.
    public func subscribe(unlessThereAre limit: Int) -> Subscription<Buffer>? {
        let place = self.state.withLock { $0.mailboxes.count < limit ? $0.join { $0 } : nil }
        return place.map { self.subscription($0) }
    }

    private func subscription(_ place: Place) -> Subscription<Buffer> {
        if place.isFirst { self.observed(true) }
        let id = place.id
        return Subscription(place.mailbox) { [weak self] in self?.unsubscribe(id) }
    }

    private func unsubscribe(_ id: UInt64) {
        let isLast = self.state.withLock { $0.mailboxes.removeValue(forKey: id) != nil && $0.mailboxes.isEmpty }
        if isLast { self.observed(false) }
    }

    /// Sends to every subscriber, and sets what later ones start with, if that changes.
    public func send(_ input: Buffer.Input, startingWith start: Buffer? = nil) {
        self.send { current in
            if let start { current = start }
            return input
        }
    }

    /// Sends what `change` returns to every subscriber, once it has changed what later ones start with.
    public func send(_ change: (inout Buffer) -> Buffer.Input?) {
        let mailboxes: [Mailbox<Buffer>] = self.state.withLock { state in
            guard let input = change(&state.start) else { return [] }
            // Under the lock, or two sends could reach one mailbox in the wrong order.
            return state.mailboxes.values.filter { $0.append(input) }
        }
        for mailbox in mailboxes { mailbox.wake() }
    }

    /// Sets what later subscribers start with, and changes what the others have not read yet, which is news to none of
    /// them.
    public func revise(startingWith start: Buffer, _ change: (inout Buffer) -> Void) {
        self.state.withLock { state in
            state.start = start
            for mailbox in state.mailboxes.values { mailbox.change(change) }
        }
    }

    /// Ends every subscription after what it has not read yet, and later ones after what they start with.
    public func finish(_ reason: Buffer.EndReason? = nil) {
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
    public func reopen() {
        self.state.withLock { $0.isFinished = false }
    }

    /// Forgets why subscriptions ended before.
    public func forgetEndReason() {
        self.state.withLock { $0.endReason = nil }
    }
}

/// One subscriber's place in a ``Broadcast``; letting it go ends the subscription.
public final class Subscription<Buffer: SubscriptionBuffer>: Sendable {
    private let mailbox: Mailbox<Buffer>
    private let unsubscribe: @Sendable () -> Void

    fileprivate init(_ mailbox: Mailbox<Buffer>, unsubscribe: @escaping @Sendable () -> Void) {
        self.mailbox = mailbox
        self.unsubscribe = unsubscribe
    }

    deinit { self.unsubscribe() }

    /// The next element; `nil` at the end, or when the calling task is canceled.
    public func next() async -> Buffer.Element? {
        await self.mailbox.next()
    }

    /// This subscription as a stream for one reader. It is pulled: what is unread waits, merged, in the subscription's buffer.
    ///
    /// The subscription ends when the stream and its iterator are let go, or when a task that reads it is canceled.
    public var stream: AsyncStream<Buffer.Element> { AsyncStream { await self.next() } }

    /// The subscription as a stream of what `transform` makes of its elements, without those of which it makes nothing.
    public func stream<Element>(
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

private final class Mailbox<Buffer: SubscriptionBuffer>: Sendable {
    private struct State {
        var buffer: Buffer
        var isFinished: Bool
    }

    private let state: Mutex<State>
    private let signal = Signal()

    init(_ buffer: Buffer, isFinished: Bool) {
        self.state = Mutex(State(buffer: buffer, isFinished: isFinished))
    }

    /// Appends an input, and leaves it to ``wake()`` to resume the reader: the caller may hold a lock.
    ///
    /// - Returns: `false` when it is of no interest to the reader.
    func append(_ input: Buffer.Input) -> Bool {
        self.state.withLock { state in
            guard state.buffer.accepts(input) else { return false }
            if !state.buffer.hasOverflowed { state.buffer.append(input) }
            return true
        }
    }

    /// Changes what is not read yet.
    func change(_ body: (inout Buffer) -> Void) {
        self.state.withLock { body(&$0.buffer) }
    }

    func wake() {
        self.signal.raise()
    }

    func finish() {
        self.state.withLock { $0.isFinished = true }
        self.signal.raise()
    }

    func next() async -> Buffer.Element? {
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
