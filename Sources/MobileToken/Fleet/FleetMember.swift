import Basics
import Coordination
import PowerAuth
import Synchronization

/// One activation of a fleet.
struct FleetMember {
    /// What is being done with it.
    enum Activity {
        case opening, polling, asking
    }

    /// The client in whose store it was found; the client of its application once it is opened.
    var client: Int
    /// Whether this process polls it.
    var isOurs = false
    /// Whether it came, or was taken over, while the fleet was running.
    var isLate = false
    /// Whether it was tried to open since it is polled here.
    var wasTried = false
    var activity: Activity?
    /// Whether it waits in a line for what is due.
    var isInLine = false
    var condition = ActivationCondition()
    var service: OperationsService?
    /// The activation of the service.
    var activation: Activation?
    /// The fleet's part in the polling of the service.
    var runner: Poller.Runner?

    /// The opened service, with the activation and its client.
    var opened: OpenedService? {
        guard let activation, let service else { return nil }
        return OpenedService(activation: activation, service: service, client: self.client)
    }
}

/// Something that a fleet has begun, to be finished outside its actor.
struct FleetJob: Sendable {
    enum Work: Sendable {
        /// The service is there when the activation was opened by hand, or polled here before.
        case open(client: Int, OpenedService?)
        case poll(OperationsService, ServerGate, lag: Duration)
        case ask(OperationsService, ServerGate)
        /// Ask for the status before the first poll, which signs nothing.
        case compare(OperationsService, ServerGate)
    }

    let id: ExactString
    let work: Work
}

/// What came of a job.
enum FleetOutcome: Sendable {
    case opened(OpenedService)
    case polled
    case told(ActivationStatus)
    case failed(MobileTokenError)
    case canceled
}

/// A service, and the client that its activation belongs to.
struct OpenedService: Sendable {
    let activation: Activation
    let service: OperationsService
    let client: Int
}

/// Activations that may begin, first come, first served.
struct ReadyLine: Sendable {
    private var ids: [ExactString] = []
    private var head = 0

    var first: ExactString? { self.head < self.ids.count ? self.ids[self.head] : nil }

    mutating func append(_ id: ExactString) { self.ids.append(id) }

    mutating func removeFirst() {
        self.head += 1
        guard self.head == self.ids.count || self.head > 1024 else { return }
        self.ids.removeSubrange(..<min(self.head, self.ids.count))
        self.head = 0
    }
}

/// What happens to a fleet outside its actor, and the bell that wakes its pump for it.
final class FleetInbox: Sendable {
    private struct State {
        var rescheduled: Set<ExactString> = []
        var isRung = false
    }

    private let state = Mutex(State())
    /// Raised when there may be something to begin before the time that was slept to.
    let wake = Signal()

    /// Whether the pump has still to look.
    var isRung: Bool { self.state.withLock { $0.isRung } }

    func ring() {
        self.state.withLock { $0.isRung = true }
        self.wake.raise()
    }

    /// An activation's schedule was changed.
    func rescheduled(_ id: ExactString) {
        self.state.withLock { _ = $0.rescheduled.insert(id) }
        self.ring()
    }

    /// Takes the activations whose schedules were changed since the last look.
    func take() -> Set<ExactString> {
        self.wake.lower()
        return self.state.withLock { state in
            defer { state = State() }
            return state.rescheduled
        }
    }
}
