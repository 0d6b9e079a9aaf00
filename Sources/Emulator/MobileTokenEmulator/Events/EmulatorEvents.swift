package import APIDescriptions
import Basics
import Coordination
import EmulatorBackend
public import Foundation

extension Emulator {
    /// A change in the server.
    public struct Event: Sendable, Codable, Hashable {
        /// The kind of a change.
        public enum Kind: String, Sendable, Codable, CaseIterable {
            /// An activation was created or changed.
            case activation
            /// An operation was created, or its status changed.
            case operation
            /// An inbox message was created or read.
            case message
            /// A device was registered for push messages.
            case device
            /// A request was handled; ``Event/id`` is the journal entry's number.
            case request
            /// A delivery to the bank was created, tried or completed; ``Event/id`` is its number, ``Event/status`` its state.
            case delivery
            /// A push message was created; ``Event/id`` is its number, ``Event/status`` its subject.
            case push
            /// A virtual device was made, acted or was removed; ``Event/id`` is its activation's, ``Event/status`` is `REMOVED`
            /// if it is gone.
            case virtualDevice
            /// The clock was set.
            case clock
            /// The fault rules were changed.
            case faults
            /// The operation templates were changed.
            case templates
            /// The accepted protocol versions were set.
            case protocolRules = "protocol"
            /// All state was replaced, by a reset or an import.
            case reset

            init(_ subject: BackendEvent.Subject) {
                self =
                    switch subject {
                    case .activation: .activation
                    case .operation: .operation
                    case .message: .message
                    case .device: .device
                    }
            }
        }

        /// The event's number, from 1.
        public var number: UInt64
        /// The kind of the change.
        public var kind: Kind
        /// The identifier of the changed object, such as an activation or operation.
        public var id: String?
        /// The object's current status, if it has one.
        public var status: String?
        /// The server's time.
        public var time: Date
    }
}

extension Emulator.Event: Described {
    package static let fields = FieldTable(
        "Event",
        Self.init(number:kind:id:status:time:),
        .required("number", \.number, .count, "The number of the event, from 1.", unit: .number),
        .required("kind", \.kind, .cases(), "The kind of what has changed.", example: .operation),
        .optional(
            "id",
            \.id,
            .string,
            "The identifier of what has changed.",
            example: "0f038bac-6c94-45eb-b3a9-f92e809e8ea4"
        ),
        .optional("status", \.status, .string, "Its status now, if it has one.", example: "APPROVED"),
        .required("time", \.time, .date, "The time by the server's clock.")
    )
}

/// The unread events of a reader: all of them, or the subscription ends.
struct EventQueue: SubscriptionBuffer {
    private static let capacity = 4096

    private var unread = FIFO<Emulator.Event>()
    private(set) var hasOverflowed = false

    mutating func append(_ event: Emulator.Event) {
        self.hasOverflowed = self.unread.count >= Self.capacity
        if !self.hasOverflowed { self.unread.append(event) }
    }

    mutating func removeFirst() -> Emulator.Event? { self.unread.popFirst() }
}
