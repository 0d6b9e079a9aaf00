import Coordination
import PowerAuth

/// What happens in a fleet, handed to any number of subscribers.
///
/// Services report from their own actors, states come from the fleet's: the broadcast's lock gives both one order.
final class FleetStreams: Sendable {
    let broadcast = Broadcast(startingWith: FleetBuffer())

    /// What a service's events are given to.
    func listener(of id: String) -> @Sendable (OperationsEvent) -> Void {
        { [broadcast] event in
            switch event {
            case .loading: break
            case .failed(let error): broadcast.send { _ in .failed(activationID: id, error) }
            case .changed(let change):
                broadcast.send { start in
                    guard start.setList(change.operations, of: id) else { return nil }
                    return .changed(FleetChange(activationID: id, change: change))
                }
            }
        }
    }

    func stateChanged(_ state: FleetActivationState, of id: String) {
        self.broadcast.send { start in
            start.setState(state, of: id)
            return .stateChanged(activationID: id, state)
        }
    }

    func failed(_ error: MobileTokenError, of id: String) {
        self.broadcast.send { _ in .failed(activationID: id, error) }
    }

    /// The list counts from now on; what is known of it is news.
    func follow(_ id: String, list: [UserOperation]) {
        self.broadcast.send { start in
            guard start.follow(id), start.setList(list, of: id), !list.isEmpty else { return nil }
            return .changed(FleetChange(activationID: id, change: OperationListChange(wholeList: list)))
        }
    }

    /// The list counts no more; what was on it has left.
    func unfollow(_ id: String) {
        self.broadcast.send { start in
            let list = start.unfollow(id)
            guard !list.isEmpty else { return nil }
            let change = OperationListChange(
                operations: [],
                removed: list.map { .init(operation: $0, reason: .left) },
                source: .departure
            )
            return .changed(FleetChange(activationID: id, change: change))
        }
    }

    func left(_ id: String) {
        self.unfollow(id)
        self.broadcast.send { start in
            start.forget(id)
            return .left(activationID: id)
        }
    }
}

extension OperationListChange.Source {
    /// The activation ended, or left its ``OperationsFleet``.
    public static let departure = Self(description: "departure")
}
