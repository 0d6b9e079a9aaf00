public import PowerAuth

extension OperationsFleet {
    /// A difference of one activation's list of operations from what the fleet's subscriber last saw.
    public struct Change: Sendable, Hashable {
        /// The activation whose list it is.
        public let activationID: String
        /// The difference from what this subscriber last saw of that list.
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
        /// An activation came into the fleet, or is doing otherwise than before.
        case stateChanged(activationID: String, OperationsFleet.ActivationState)
        /// The operations of an activation changed.
        case changed(OperationsFleet.Change)
        /// The operations of an activation could not be fetched, or an attempt to open it or to ask for its status failed.
        case failed(activationID: String, MobileTokenError)
        /// An activation left the fleet: it was removed from the store, or another process polls it now.
        case left(activationID: String)

        /// The activation that the event is about.
        public var activationID: String {
            switch self {
            case .stateChanged(let id, _), .failed(let id, _), .left(let id): id
            case .changed(let change): change.activationID
            }
        }
    }
}

extension OperationList.Change.RemovalReason {
    /// Its activation ended, or left the fleet. The operation may still be pending.
    public static let left = Self(description: "left")
}
