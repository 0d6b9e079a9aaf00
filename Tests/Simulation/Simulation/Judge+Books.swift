import EmulatorBackend
import MobileTokenCloud

// The names of the bank's books.
extension Judge {
    /// A device's decision.
    struct Decision: Hashable {
        let operationID: String
        let isApproval: Bool
    }

    /// One operation in one process.
    struct Case: Hashable {
        let process: Int
        let operationID: String
    }

    /// The bank's own view of an operation.
    struct Book {
        /// Expired also if the bank has not looked at it since its time was over.
        let status: ServerOperation.Status
        /// Indicates that its time is over, whatever has become of it.
        let isLate: Bool
        let data: String

        var isOver: Bool { self.status != .pending }
    }

    /// A signature, identified by its counter value: client and server count alike.
    struct Signature: Hashable {
        let activationID: String
        let move: UInt64
    }

    struct Operation {
        let name: String
        var kind: Plan.Kind
        let device: Int
        let made: Int64
        var isPending = true
        var hasExpired = false
        var ended: Int64 = 0
    }
}
