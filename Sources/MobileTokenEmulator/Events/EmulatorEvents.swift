package import APIDescriptions
import Coordination
import EmulatorBackend
public import Foundation

extension Emulator {
    /// Something that changed in the server.
    public struct Event: Sendable, Codable, Hashable {
        /// The kind of a change. A struct, so that adding a kind breaks no `switch`.
        public struct Kind: Sendable, Codable, Hashable, CustomStringConvertible {
            private let name: String

            private init(_ name: String) { self.name = name }
            init(_ subject: BackendEvent.Subject) { self.name = subject.rawValue }

            /// An activation was made or changed.
            public static let activation = Self(.activation)
            /// An operation was made, or its status changed.
            public static let operation = Self(.operation)
            /// An inbox message was made or read.
            public static let message = Self(.message)
            /// A device was registered for push messages.
            public static let device = Self(.device)
            /// A request was handled; ``Event/id`` is the journal entry's number.
            public static let request = Self("request")
            /// A delivery to the bank was made, tried or ended; ``Event/id`` is its number, ``Event/status`` its state.
            public static let delivery = Self("delivery")
            /// A push message was made; ``Event/id`` is its number, ``Event/status`` what it tells of.
            public static let push = Self("push")
            /// A virtual device was made or removed, or has done something; ``Event/id`` is that of its activation,
            /// ``Event/status`` is `REMOVED` when it is gone.
            public static let virtualDevice = Self("virtualDevice")
            /// The clock was set.
            public static let clock = Self("clock")
            /// The fault rules were changed.
            public static let faults = Self("faults")
            /// The templates of operations were changed.
            public static let templates = Self("templates")
            /// Which versions of the protocol are accepted was set.
            public static let protocolRules = Self("protocol")
            /// All state was replaced, by a reset, an import or a restored snapshot.
            public static let reset = Self("reset")

            fileprivate static var form: Form<Self> {
                let all = [
                    Self.activation, .operation, .message, .device, .request, .delivery, .push, .virtualDevice, .clock,
                    .faults, .templates, .protocolRules, .reset,
                ]
                return Form<String>.string(oneOf: all.map(\.name)).map {
                    Self($0)
                } from: {
                    $0.name
                }
            }

            /// Reads the kind's name.
            public init(from decoder: any Decoder) throws {
                self.name = try decoder.singleValueContainer().decode(String.self)
            }

            /// Writes the kind's name.
            public func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(self.name)
            }

            /// The kind's name.
            public var description: String { self.name }
        }

        /// The event's number, from 1.
        public var number: UInt64
        /// The kind of the change.
        public var kind: Kind
        /// The identifier of the activation, operation or other thing that changed.
        public var id: String?
        /// Its status now, if it has one.
        public var status: String?
        /// The server's time.
        public var time: Date
    }
}

extension Emulator.Event: Described {
    package static let fields = FieldTable(
        "Event",
        Self.init(number:kind:id:status:time:),
        .required("number", \.number, .count, "From 1.", unit: .number),
        .required("kind", \.kind, Kind.form, "What has changed.", example: .operation),
        .optional(
            "id",
            \.id,
            .string,
            "That of what has changed.",
            example: "0f038bac-6c94-45eb-b3a9-f92e809e8ea4"
        ),
        .optional("status", \.status, .string, "Its status now, if it has one.", example: "APPROVED"),
        .required("time", \.time, .date, "By the server's clock.")
    )
}

/// The events that a reader has not seen yet: all of them, or its subscription ends.
struct EventQueue: SubscriptionBuffer {
    private static let capacity = 4096

    /// Newest first.
    private var unread: [Emulator.Event] = []
    /// The events that came since that was filled, oldest first.
    private var arrived: [Emulator.Event] = []
    private(set) var hasOverflowed = false

    mutating func append(_ event: Emulator.Event) {
        self.hasOverflowed = self.unread.count + self.arrived.count >= Self.capacity
        if !self.hasOverflowed { self.arrived.append(event) }
    }

    mutating func removeFirst() -> Emulator.Event? {
        if self.unread.isEmpty {
            self.unread = self.arrived.reversed()
            self.arrived = []
        }
        return self.unread.popLast()
    }
}
