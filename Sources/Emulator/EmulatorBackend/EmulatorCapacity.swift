/// The limits on the objects that callers can create. Requests beyond them are refused with the code `CAPACITY_EXCEEDED` and
/// status 507, or 503 for event streams. A reset makes room.
///
/// No object is dropped automatically, because it can still be requested; only the journal drops its oldest entries. In-process
/// calls of the Swift API other than requests, such as `Emulator.faults`, are not limited.
public struct EmulatorCapacity: Sendable, Codable, Hashable {
    /// Registrations and activations, including removed ones. Each has at most one push registration.
    public var activations = 50_000
    /// Operations, including finished ones.
    public var operations = 100_000
    /// Inbox messages.
    public var messages = 100_000
    /// Tokens that were not removed.
    public var tokens = 100_000
    /// Applications.
    public var applications = 1_000
    /// Callbacks of the cloud API.
    public var callbacks = 100
    /// Operation templates, including the built-in ones.
    public var templates = 100
    /// The flags of one registration, of at most 255 bytes each.
    public var flagsPerRegistration = 100
    /// The size of all of these in bytes: the requests that created them, plus a kilobyte each.
    public var storedBytes = 256 << 20
    /// Fault rules.
    public var faultRules = 1_000
    /// Concurrent readers of `/_emulator/events`.
    public var eventStreams = 100
    /// Virtual devices.
    public var devices = 1_000
    /// Spaces. Each is limited to 1 000 activations, 5 000 operations, messages and tokens each, 100 applications, 4 MiB of
    /// requests that create these, 100 fault rules, 10 event readers, 100 virtual devices, and 2 000 journal entries or 4 MiB. A
    /// space that begins with a larger state holds all of it, and accepts no more.
    public var spaces = 1_000

    /// Creates limits that suit the tests of a large team.
    public init() {}
}
