package import APIDescriptions
public import Foundation

extension Emulator {
    /// A snapshot: all that a server or a space held at a moment, kept in its memory to be put back.
    public struct SnapshotSummary: Sendable, Codable, Hashable, Identifiable {
        /// Its number, from 1.
        public var id: UInt64
        /// The name that its maker gave it.
        public var name: String?
        /// The time when it was made, by the server's clock.
        public var created: Date
        /// The number of registrations and activations in it, removed ones included.
        public var activations: Int
        /// The number of operations in it, finished ones included.
        public var operations: Int
        /// The number of inbox messages in it.
        public var messages: Int
        /// The number of virtual devices in it.
        public var devices: Int
        /// The number of fault rules in it.
        public var faults: Int
        /// The number of deliveries to the bank in it, ended ones included.
        public var deliveries: Int
    }
}

extension Emulator.SnapshotSummary: Described {
    package static let fields = FieldTable(
        "SnapshotSummary",
        Self.init(id:name:created:activations:operations:messages:devices:faults:deliveries:),
        .required("id", \.id, .count, unit: .number),
        .optional("name", \.name, .string),
        .required("created", \.created, .date),
        .required("activations", \.activations, .count, "The number of activations, removed ones included."),
        .required("operations", \.operations, .count),
        .required("messages", \.messages, .count),
        .required("devices", \.devices, .count, "The number of virtual devices."),
        .required("faults", \.faults, .count, "The number of fault rules."),
        .required("deliveries", \.deliveries, .count)
    )

    init(id: UInt64, name: String?, created: Date, of whole: WholeState) {
        let state = whole.backend.state
        self.init(
            id: id,
            name: name,
            created: created,
            activations: state.activations.count,
            operations: state.operations.count,
            messages: state.inbox.count,
            devices: whole.devices.roster.count,
            faults: whole.faults.rules.count,
            deliveries: whole.outbox.count
        )
    }
}
