import Coordination
import PowerAuthClient

/// The event streams of a fleet, for any number of subscribers.
///
/// Services report from their own actors, and the fleet reports states; the broadcast's lock gives them one order.
final class FleetStreams: Sendable {
    let events = Broadcast(startingWith: FleetBuffer())

    func finish() { self.events.finish() }

    /// Returns a listener to the events of an activation's service.
    func listener(of id: String) -> @Sendable (OperationsService.Event) -> Void {
        { event in
            switch event {
            case .loading: break
            case .failed(let error): self.reportFailure(error, of: id)
            case .unreadable(let operations): self.reportUnreadable(operations, of: id)
            case .changed(let change):
                self.events.send { start in
                    guard start.setList(change.operations, of: id) else { return nil }
                    return .changed(OperationsFleet.Change(activationID: id, change: change))
                }
            }
        }
    }

    func stateChanged(_ state: OperationsFleet.ActivationState, of id: String) {
        self.events.send { start in
            start.setState(state, of: id)
            return .stateChanged(activationID: id, state)
        }
    }

    func reportFailure(_ error: MobileTokenError, of id: String) {
        self.events.send { _ in .failed(activationID: id, error) }
    }

    private func reportUnreadable(_ operations: [OperationList.Unreadable], of id: String) {
        self.events.send { _ in .unreadable(activationID: id, operations) }
    }

    /// Starts following the list, and reports its content as new.
    func follow(_ id: String, list: [UserOperation], unreadable: [OperationList.Unreadable]) {
        self.events.send { start in
            guard start.follow(id), start.setList(list, of: id), !list.isEmpty else { return nil }
            return .changed(OperationsFleet.Change(activationID: id, change: OperationList.Change(wholeList: list)))
        }
        if !unreadable.isEmpty { self.reportUnreadable(unreadable, of: id) }
    }

    /// Stops following the list, and reports its operations as removed.
    func unfollow(_ id: String) {
        self.events.send { start in
            let list = start.unfollow(id)
            guard !list.isEmpty else { return nil }
            let removed = list.map { OperationList.Change.Removal(operation: $0, reason: .left) }
            let change = OperationList.Change(operations: [], removed: removed, source: .departure)
            return .changed(OperationsFleet.Change(activationID: id, change: change))
        }
    }

    /// Notes that this process no longer polls the activation.
    func reportLeaving(_ id: String) {
        self.unfollow(id)
        self.events.send { start in
            start.forget(id)
            return .left(activationID: id)
        }
    }
}

extension OperationList.Change.Source {
    /// The activation ended, or left its ``OperationsFleet``.
    package static let departure = Self(description: "departure")
}
