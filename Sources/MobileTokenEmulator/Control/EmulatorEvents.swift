import EmulatorBackend
public import Foundation
import Synchronization

extension Emulator {
    /// Something that changed in the server.
    public struct Event: Sendable, Codable, Hashable {
        /// What changed. A struct, so that adding a kind breaks nobody's `switch`.
        public struct Kind: Sendable, Codable, Hashable, CustomStringConvertible {
            private let name: String

            private init(_ name: String) { self.name = name }
            init(_ subject: BackendEvent.Subject) { self.name = subject.rawValue }

            /// An activation was made or changed.
            public static let activation = Self(.activation)
            /// An operation was made, or its status changed.
            public static let operation = Self(.operation)
            /// An inbox message was made or read.
            public static let message = Self(.message)
            /// A device was registered for push messages.
            public static let device = Self(.device)
            /// A request was answered; ``Event/id`` is the journal entry's number.
            public static let request = Self("request")
            /// The clock was set.
            public static let clock = Self("clock")
            /// The fault rules were changed.
            public static let faults = Self("faults")
            /// All state was replaced, by a reset or an import.
            public static let reset = Self("reset")

            /// Reads the kind's name.
            public init(from decoder: any Decoder) throws {
                self.name = try decoder.singleValueContainer().decode(String.self)
            }

            /// Writes the kind's name.
            public func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(self.name)
            }

            /// The kind's name.
            public var description: String { self.name }
        }

        /// The event's number, from 1.
        public var number: UInt64
        /// What changed.
        public var kind: Kind
        /// Which activation, operation, …
        public var id: String?
        /// Its status now, if it has one.
        public var status: String?
        /// The server's time.
        public var time: Date
    }

    /// What changes in the server, from the moment ``Emulator/events()`` returned until the server stops.
    ///
    /// No event is left out: a reader that falls thousands behind has its sequence ended.
    public struct Events: AsyncSequence, Sendable {
        let stream: AsyncStream<Event>

        /// Reads the sequence; read it from one task only.
        public func makeAsyncIterator() -> AsyncStream<Event>.Iterator {
            self.stream.makeAsyncIterator()
        }
    }
}

/// Hands every event to any number of independent sequences.
final class EventBroadcast: Sendable {
    private typealias Sink = AsyncStream<Emulator.Event>.Continuation

    private struct State {
        var nextID = 0
        /// `nil` once the broadcast has ended.
        var sinks: [Int: Sink]? = [:]
    }

    private static let capacity = 4096
    private let state = Mutex(State())

    deinit { self.finish() }

    func subscribe() -> AsyncStream<Emulator.Event> {
        self.subscribe(unlessThereAre: .max) ?? AsyncStream { $0.finish() }
    }

    /// - Returns: `nil` when there are so many subscribers already; a sequence that has ended when the broadcast has.
    func subscribe(unlessThereAre limit: Int) -> AsyncStream<Emulator.Event>? {
        let (stream, sink) = AsyncStream.makeStream(
            of: Emulator.Event.self,
            bufferingPolicy: .bufferingOldest(Self.capacity)
        )
        let subscription = self.state.withLock { state -> (id: Int, isOver: Bool)? in
            guard let count = state.sinks?.count else { return (0, true) }
            guard count < limit else { return nil }
            state.nextID += 1
            state.sinks?[state.nextID] = sink
            return (state.nextID, false)
        }
        guard let (id, isOver) = subscription else { return nil }
        sink.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.sinks?.removeValue(forKey: id) } }
        if isOver { sink.finish() }
        return stream
    }

    func send(_ event: Emulator.Event) {
        // Finishing a sink runs its `onTermination`, which takes the lock: so not under the lock.
        for sink in self.state.withLock({ $0.sinks ?? [:] }).values {
            if case .dropped = sink.yield(event) { sink.finish() }
        }
    }

    func finish() {
        for sink in self.state.withLock({ $0.sinks.take() ?? [:] }).values { sink.finish() }
    }
}
