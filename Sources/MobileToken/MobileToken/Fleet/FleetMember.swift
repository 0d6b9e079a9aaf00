import Basics
import Coordination
import PowerAuthClient
import Synchronization

/// One activation of a fleet. The fleet alone changes it; every caller may look, and waits for nothing.
///
/// A class, since each poll looks at it and changes it many times, and a table of large values is mostly empty room.
@dynamicMemberLookup final class FleetMember: Sendable {
    /// The values of a member at one moment.
    struct Values: Sendable {
        /// The client in whose store it was found; the client of its application once it is opened.
        var client: Int
        /// Indicates whether this process polls it.
        var isOurs = false
        /// Indicates whether it came, or was taken over, while the fleet was running.
        var isLate = false
        /// Indicates whether it was tried to open since it is polled here.
        var wasTried = false
        /// Indicates whether it is being opened, polled or asked about.
        var isBusy = false
        /// Indicates whether it waits in a queue for what is due.
        var isQueued = false
        /// The condition until it is open; then the service's counts.
        var opening = ActivationCondition()
        /// The state that the streams were told.
        var state = OperationsFleet.ActivationState(.starting)
        var service: OperationsService?
        /// The activation of the service; `nil` where a service was given.
        var activation: Activation?
        /// The fleet's part in the polling of the service.
        var runner: PollingState.Runner?
    }

    private let values: Mutex<Values>

    init(client: Int) { self.values = Mutex(Values(client: client)) }

    subscript<Value: Sendable>(dynamicMember path: WritableKeyPath<Values, Value>) -> Value {
        get { self.values.withLock { $0[keyPath: path] } }
        set { self.values.withLock { $0[keyPath: path] = newValue } }
    }

    var opened: OpenedService? {
        let now = self.values.withLock { $0 }
        return now.service.map { OpenedService(activation: now.activation, service: $0, client: now.client) }
    }

    var currentState: OperationsFleet.ActivationState {
        let now = self.values.withLock { $0 }
        guard now.opening.isOpened, let service = now.service else { return now.opening.state }
        return service.poller.condition.state
    }
}

/// The activations of a fleet. The fleet alone changes the table; every caller may look, and waits for nothing.
final class FleetMembers: Sendable {
    private let table = Mutex<[ExactString: FleetMember]>([:])

    subscript(id: ExactString) -> FleetMember? {
        get { self.table.withLock { $0[id] } }
        set { self.table.withLock { $0[id] = newValue } }
    }

    /// All of them at this moment.
    var all: [ExactString: FleetMember] { self.table.withLock { $0 } }
}

/// Something that a fleet has begun, to be finished outside its actor.
struct FleetJob: Sendable {
    enum Work: Sendable {
        /// Opens an activation. The service exists if the activation was opened by hand, or polled here before.
        case open(client: Int, OpenedService?)
        /// Sends a polling request, with a permit of its server's limiter.
        case send(PollingState.Request, OperationsService, ServerLimiter?)
    }

    let id: ExactString
    let work: Work
}

enum FleetOutcome: Sendable {
    case opened(OpenedService)
    case sent
    case failed(MobileTokenError)
    case canceled
}

/// A service, and its activation's client.
struct OpenedService: Sendable {
    let activation: Activation?
    let service: OperationsService
    let client: Int
}

/// The schedule changes made outside a fleet's actor, and the signal that wakes its pump for them.
final class FleetInbox: Sendable {
    private struct State {
        var rescheduled: Set<ExactString> = []
        var isRaised = false
    }

    private let state = Mutex(State())
    /// Raised when work may be due before the end of the pump's sleep.
    let wake = Signal()

    /// Indicates whether the pump has to read it.
    var isRaised: Bool { self.state.withLock { $0.isRaised } }

    func raise() {
        self.state.withLock { $0.isRaised = true }
        self.wake.raise()
    }

    /// Notes a change of an activation's schedule.
    func recordChange(of id: ExactString) {
        self.state.withLock { _ = $0.rescheduled.insert(id) }
        self.raise()
    }

    /// Takes the activations with schedules changed since the last call.
    func take() -> Set<ExactString> {
        self.wake.lower()
        return self.state.withLock { state in
            defer { state = State() }
            return state.rescheduled
        }
    }
}
