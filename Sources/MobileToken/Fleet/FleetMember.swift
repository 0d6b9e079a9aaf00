import Basics
import Coordination
import PowerAuth
import Synchronization

/// One activation of a fleet.
struct FleetMember {
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
    var runner: Following.Runner?

    /// The opened service, with the activation and its client.
    var opened: OpenedService? {
        self.service.map { OpenedService(activation: self.activation, service: $0, client: self.client) }
    }

    /// The state as it is now.
    var currentState: OperationsFleet.ActivationState {
        guard self.opening.isOpened, let service else { return self.opening.state }
        return service.poller.condition.state
    }
}

/// Something that a fleet has begun, to be finished outside its actor.
struct FleetJob: Sendable {
    enum Work: Sendable {
        /// The service is there when the activation was opened by hand, or polled here before.
        case open(client: Int, OpenedService?)
        /// A request of the polling, with a place among those to its server.
        case send(Following.Request, OperationsService, ServerLimiter?)
    }

    let id: ExactString
    let work: Work
}

/// The outcome of a job.
enum FleetOutcome: Sendable {
    case opened(OpenedService)
    case sent
    case failed(MobileTokenError)
    case canceled
}

/// A service, and the client that its activation belongs to.
struct OpenedService: Sendable {
    let activation: Activation?
    let service: OperationsService
    let client: Int
}

/// The changes of schedules that happen outside a fleet's actor, and the signal that wakes its pump for them.
final class FleetInbox: Sendable {
    private struct State {
        var rescheduled: Set<ExactString> = []
        var isRaised = false
    }

    private let state = Mutex(State())
    /// Raised when there may be something to begin before the time that was slept to.
    let wake = Signal()

    /// Indicates whether the pump has still to read it.
    var isRaised: Bool { self.state.withLock { $0.isRaised } }

    func raise() {
        self.state.withLock { $0.isRaised = true }
        self.wake.raise()
    }

    /// An activation's schedule was changed.
    func recordChange(of id: ExactString) {
        self.state.withLock { _ = $0.rescheduled.insert(id) }
        self.raise()
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
