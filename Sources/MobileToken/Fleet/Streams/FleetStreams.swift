import Coordination
import Foundation
import PowerAuth

/// The events of a fleet, handed to any number of subscribers.
///
/// Services report from their own actors, states come from the fleet's: the broadcasts' locks give both one order.
///
/// Two streams exist where processes show each other their lists: what this process polls, by which an agent decides, and
/// what any process polls, which readers see. The second does not flicker when an activation goes from one process to another.
final class FleetStreams: Sendable {
    /// The activations that this process polls.
    let polled = Broadcast(startingWith: FleetBuffer())
    /// The activations that readers see.
    let shown: Broadcast<FleetBuffer>
    /// The membership that carries lists to and from other processes, if it does.
    let sharing: (any ListSharingMembership)?

    init(membership: any FleetMembership) {
        self.sharing = membership as? any ListSharingMembership
        self.shown = self.sharing == nil ? self.polled : Broadcast(startingWith: FleetBuffer())
    }

    func finish() {
        self.polled.finish()
        self.shown.finish()
    }

    private func send(_ change: (inout FleetBuffer) -> OperationsFleet.Event?) {
        self.polled.send(change)
        if self.sharing != nil { self.shown.send(change) }
    }

    /// Returns a listener to the events of an activation's service.
    func listener(of activation: any AuthenticatedChannel) -> @Sendable (OperationsService.Event) -> Void {
        let id = activation.activationID
        return { event in
            switch event {
            case .loading: break
            case .failed(let error): self.reportFailure(error, of: id)
            case .changed(let change):
                self.polled.send { start in
                    guard start.setList(change.operations, of: id) else { return nil }
                    return .changed(OperationsFleet.Change(activationID: id, change: change))
                }
                guard self.sharing != nil else { return }
                let date = activation.serverDate
                self.share(FleetListing(activationID: id, operations: change.operations, serverDate: date), as: change)
            }
        }
    }

    func stateChanged(_ state: OperationsFleet.ActivationState, of id: String) {
        self.send { start in
            start.setState(state, of: id)
            return .stateChanged(activationID: id, state)
        }
    }

    func reportFailure(_ error: MobileTokenError, of id: String) {
        self.send { _ in .failed(activationID: id, error) }
    }

    /// The list counts from now on; what is known of it is news.
    func follow(_ id: String, list: [UserOperation]) {
        self.polled.send { start in
            guard start.follow(id), start.setList(list, of: id), !list.isEmpty else { return nil }
            return .changed(OperationsFleet.Change(activationID: id, change: OperationList.Change(wholeList: list)))
        }
        // An empty list may only say that nothing was fetched yet.
        guard self.sharing != nil else { return }
        self.shown.send { start in
            guard start.follow(id), !list.isEmpty else { return nil }
            return start.show(list, of: id, source: .fetch) { _ in .disappeared }
        }
    }

    /// The list counts no more; what was on it has left.
    func unfollow(_ id: String) {
        self.send { Self.empty(id, in: &$0) }
        // The server's time is of no use to a list without operations.
        self.sharing?.recordPoll(FleetListing(activationID: id, operations: [], serverDate: .distantPast))
    }

    /// This process does not poll the activation any more.
    func reportLeaving(_ id: String) {
        self.polled.send { Self.empty(id, in: &$0) }
        self.polled.send { start in
            start.forget(id)
            return .left(activationID: id)
        }
        guard let sharing else { return }
        self.shown.send { start in
            start.release(id)
            return .left(activationID: id)
        }
        if let listing = sharing.lastListing(of: id) { self.show(listing) }
    }

    private static func empty(_ id: String, in start: inout FleetBuffer) -> OperationsFleet.Event? {
        let list = start.unfollow(id)
        guard !list.isEmpty else { return nil }
        let removed = list.map { OperationList.Change.Removal(operation: $0, reason: .left) }
        let change = OperationList.Change(operations: [], removed: removed, source: .departure)
        return .changed(OperationsFleet.Change(activationID: id, change: change))
    }
}

// MARK: What processes show each other

extension FleetStreams {
    /// A poll of this process ended. What it found may be news to others even when this process knew it.
    func recordPoll(_ listing: FleetListing) { self.share(listing, as: nil) }

    /// - Parameter change: The change that tells why operations left.
    private func share(_ listing: FleetListing, as change: OperationList.Change?) {
        var isFollowed = false
        self.shown.send { start in
            isFollowed = start.isFollowed(listing.activationID)
            guard isFollowed else { return nil }
            return start.show(listing.operations, of: listing.activationID, source: .fetch) { operation in
                change?.removed.first { $0.operation.identity == operation.identity }?.reason
                    ?? .init(of: operation, at: listing.serverDate)
            }
        }
        if isFollowed { self.sharing?.recordPoll(listing) }
    }

    /// Shows a list of another process, unless this one polls the activation.
    func show(_ listing: FleetListing) {
        self.shown.send { start in
            guard !start.isFollowed(listing.activationID) else { return nil }
            return start.show(listing.operations, of: listing.activationID, source: .anotherProcess) { operation in
                .init(of: operation, at: listing.serverDate)
            }
        }
    }

    /// Nobody polls the activation, as far as this process can know.
    func recordRemoval(_ id: String) {
        guard self.sharing != nil else { return }
        self.shown.send { start in
            defer { start.forget(id) }
            return Self.empty(id, in: &start)
        }
    }
}

extension OperationList.Change.RemovalReason {
    /// The reason an operation is not listed any more, as far as the server's time tells.
    fileprivate init(of operation: UserOperation, at serverDate: Date) {
        self = operation.expires <= serverDate ? .expired : .disappeared
    }
}

extension OperationList.Change.Source {
    /// The activation ended, or left its ``OperationsFleet``.
    public static let departure = Self(description: "departure")
    /// Another process of an ``OperationsFleet`` polled the list; see ``FleetMembership``.
    public static let anotherProcess = Self(description: "anotherProcess")
}
