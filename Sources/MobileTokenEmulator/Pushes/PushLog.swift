import EmulatorBackend
import Foundation

/// The last push messages that would have been sent, so many that they fit the bounds.
struct PushLog: Sendable {
    /// How many a server keeps.
    static let capacity = 1_000
    /// How many bytes of payloads a server keeps.
    static let totalCapacity = 8 << 20

    // The first `expired` are gone; dropping them for good now and then keeps appending cheap.
    private var pushes: [Emulator.PushSummary] = []
    private var expired = 0
    private var size = 0
    private var lastID: UInt64 = 0
    private let capacity: Int
    private let totalCapacity: Int

    init(capacity: Int = Self.capacity, totalCapacity: Int = Self.totalCapacity) {
        self.capacity = capacity
        self.totalCapacity = totalCapacity
    }

    /// Newest first.
    var newestFirst: some Sequence<Emulator.PushSummary> { self.pushes[self.expired...].reversed() }

    subscript(id: UInt64) -> Emulator.PushSummary? { self.pushes[self.expired...].last { $0.id == id } }

    mutating func append(_ message: PushMessage, at time: Date) -> Emulator.PushSummary {
        self.lastID += 1
        let push = Emulator.PushSummary(message, id: self.lastID, at: time)
        self.pushes.append(push)
        self.size += push.payload.utf8.count
        while self.pushes.count - self.expired > self.capacity || self.size > self.totalCapacity {
            self.size -= self.pushes[self.expired].payload.utf8.count
            self.expired += 1
        }
        if self.expired > self.capacity {
            self.pushes.removeFirst(self.expired)
            self.expired = 0
        }
        return push
    }

    /// Forgets all; numbers go on.
    mutating func removeAll() {
        self.pushes = []
        self.expired = 0
        self.size = 0
    }
}
