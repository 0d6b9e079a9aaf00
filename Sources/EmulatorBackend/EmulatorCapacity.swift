/// The bounds of what callers can make the server hold. Beyond, what would add to it is refused: with status 507, with 503 for
/// event streams, in each case with the code `CAPACITY_EXCEEDED`. A reset makes room.
///
/// Nothing that was created is dropped on its own, for it can still be asked for; only the journal forgets its oldest
/// entries. In-process calls of the Swift API that do not take the way of requests, such as `Emulator.faults`, are
/// not limited.
public struct EmulatorCapacity: Sendable, Codable, Hashable {
    /// Registrations and activations, removed ones included. There is one push registration for each at most.
    public var activations = 50_000
    /// Operations, finished ones included.
    public var operations = 100_000
    /// Inbox messages.
    public var messages = 100_000
    /// Tokens that were not removed.
    public var tokens = 100_000
    /// Applications.
    public var applications = 1_000
    /// Callbacks of the cloud API.
    public var callbacks = 100
    /// Templates of operations, the built-in ones included.
    public var templates = 100
    /// The flags of one registration, of at most 255 bytes each.
    public var flagsPerRegistration = 100
    /// The size of all of these, in bytes: what was sent to make them, and a kilobyte for each.
    public var storedBytes = 256 << 20
    /// Fault rules.
    public var faultRules = 1_000
    /// Readers of `/_emulator/events` at a time.
    public var eventStreams = 100
    /// Virtual devices.
    public var devices = 1_000
    /// Snapshots, of the server and of each space, which has room for 20 at most. What has not changed since is shared.
    public var snapshots = 100
    /// Spaces. Each has room for at most 1 000 activations, 5 000 operations, messages and tokens each, 100 applications,
    /// 4 MiB that they are made of, 100 fault rules, 10 readers of its events, 100 virtual devices, and 2 000 entries or 4 MiB of its journal.
    /// A space that begins with a state holds all of that, and takes on no more.
    public var spaces = 1_000

    /// Room for the tests of a large team.
    public init() {}
}
