import EmulatorBackend
import Foundation

/// The last push messages that would have been sent, so many that they fit the bounds.
struct PushLog: Sendable {
    /// The number of messages that a server keeps.
    static let capacity = 1_000
    /// The number of bytes of payloads that a server keeps.
    static let totalCapacity = 8 << 20

    private var log: RecentLog<Emulator.PushSummary>

    init(capacity: Int = Self.capacity, totalCapacity: Int = Self.totalCapacity) {
        self.log = RecentLog(capacity: capacity, totalCapacity: totalCapacity)
    }

    var newestFirst: some Sequence<Emulator.PushSummary> { self.log.elements(self.log.ids.reversed()) }

    subscript(id: UInt64) -> Emulator.PushSummary? { self.log[id] }

    mutating func append(_ message: PushMessage, at time: Date) -> Emulator.PushSummary {
        let push = Emulator.PushSummary(message, id: self.log.nextID, at: time)
        self.log.append(push, size: push.payload.utf8.count)
        return push
    }

    /// Forgets all; numbers go on.
    mutating func removeAll() { self.log.removeAll() }
}
