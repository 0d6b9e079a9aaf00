/// The part of the past that a core keeps.
struct Retention: Sendable {
    var journalEntries = Journal.capacity
    var journalBytes = Journal.totalCapacity
    var pushes = 1_000
    /// Of payloads.
    var pushBytes = 8 << 20
    var deliveries = Outbox.Capacity()

    static let ofServer = Self()

    /// There may be a thousand spaces.
    static let ofSpace = Self(
        journalEntries: 2_000,
        journalBytes: 4 << 20,
        pushes: 200,
        pushBytes: 1 << 20,
        deliveries: Outbox.Capacity(open: 1_000, ended: 200, bytes: 2 << 20, underWay: 4)
    )
}
