public import PowerAuthClient

extension OperationsFleet {
    /// A change of one activation's list since the subscriber's last one.
    public struct Change: Sendable, Hashable {
        /// The activation of the list.
        public let activationID: String
        /// The change since this subscriber's last list.
        public let change: OperationList.Change

        package init(activationID: String, change: OperationList.Change) {
            self.activationID = activationID
            self.change = change
        }
    }
}

extension OperationsFleet {
    /// An event of an ``OperationsFleet``.
    public enum Event: Sendable {
        /// An activation was added to the fleet, or its state changed.
        case stateChanged(activationID: String, OperationsFleet.ActivationState)
        /// The operations of an activation changed.
        case changed(OperationsFleet.Change)
        /// The set of unreadable operations in an activation's list changed.
        case unreadable(activationID: String, [OperationList.Unreadable])
        /// A poll, an attempt to open an activation, or its status request failed.
        case failed(activationID: String, MobileTokenError)
        /// An activation left the fleet: removed from the store, or polled by another process.
        case left(activationID: String)

        /// The activation concerned.
        public var activationID: String {
            switch self {
            case .stateChanged(let id, _), .unreadable(let id, _), .failed(let id, _), .left(let id): id
            case .changed(let change): change.activationID
            }
        }
    }
}

extension OperationList.Change.RemovalReason {
    /// Its activation ended, or left the fleet. The operation may still be pending.
    public static let left = Self(description: "left")
}
