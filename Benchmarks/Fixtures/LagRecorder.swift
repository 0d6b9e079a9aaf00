import MobileTokenObserving
import Synchronization

/// Records the delays of polls, as services tell their observer.
final class LagRecorder: MobileTokenObserver {
    private struct State {
        var lags: [Duration] = []
        var activations: Set<String> = []
        var opened = 0
    }

    private let state: Mutex<State>

    /// Makes room at once, so that what it keeps is not taken for the services' memory.
    init(capacity: Int) {
        var state = State()
        state.lags.reserveCapacity(capacity)
        state.activations.reserveCapacity(capacity)
        self.state = Mutex(state)
    }

    /// The number of services that have polled so far.
    var polled: Int { self.state.withLock { $0.activations.count } }

    func fleetOpened(_ count: Int, of total: Int) { self.state.withLock { $0.opened = max($0.opened, count) } }

    func pollStarted(_ poll: MobileTokenObservation.Poll) {
        self.state.withLock { state in
            state.lags.append(poll.lag)
            state.activations.insert(poll.activationID)
        }
    }

    /// The number of activations opened so far.
    var opened: Int { self.state.withLock { $0.opened } }

    /// The lags since the last call.
    func take() -> [Duration] {
        self.state.withLock { state in
            defer { state.lags.removeAll(keepingCapacity: true) }
            return state.lags
        }
    }
}
