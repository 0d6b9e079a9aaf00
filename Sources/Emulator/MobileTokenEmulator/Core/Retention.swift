/// The limits on a core's kept history.
struct Retention: Sendable {
    var journalEntries = Journal.capacity
    var journalBytes = Journal.totalCapacity
    var pushes = 1_000
    /// The size of kept payloads.
    var pushBytes = 8 << 20
    var deliveries = Outbox.Capacity()

    static let ofServer = Self()

    /// The limits of a space, of which there may be a thousand.
    static let ofSpace = Self(
        journalEntries: 2_000,
        journalBytes: 4 << 20,
        pushes: 200,
        pushBytes: 1 << 20,
        deliveries: Outbox.Capacity(open: 1_000, ended: 200, bytes: 2 << 20, underWay: 4)
    )
}
