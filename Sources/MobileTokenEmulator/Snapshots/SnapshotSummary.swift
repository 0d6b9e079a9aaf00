package import EmulatorMessages
public import Foundation

extension Emulator {
    /// A snapshot: all that a server or a space held at a moment, kept in its memory to be put back.
    public struct SnapshotSummary: Sendable, Codable, Hashable, Identifiable {
        /// Its number, from 1.
        public var id: UInt64
        /// What its maker called it.
        public var name: String?
        /// When it was made, by the server's clock.
        public var created: Date
        /// How many registrations and activations it holds, removed ones included.
        public var activations: Int
        /// How many operations it holds, finished ones included.
        public var operations: Int
        /// How many inbox messages it holds.
        public var messages: Int
        /// How many virtual devices it holds.
        public var devices: Int
        /// How many fault rules it holds.
        public var faults: Int
        /// How many deliveries to the bank it holds, ended ones included.
        public var deliveries: Int
    }
}

extension Emulator.SnapshotSummary: Described {
    package static let fields = FieldTable(
        "SnapshotSummary",
        Self.init(id:name:created:activations:operations:messages:devices:faults:deliveries:),
        .required("id", \.id, .count),
        .optional("name", \.name, .string),
        .required("created", \.created, .date),
        .required("activations", \.activations, .count, "How many it holds, removed ones included."),
        .required("operations", \.operations, .count),
        .required("messages", \.messages, .count),
        .required("devices", \.devices, .count, "How many virtual devices it holds."),
        .required("faults", \.faults, .count, "How many fault rules it holds."),
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
