package import APIDescriptions
import EmulatorBackend
public import Foundation
public import MobileTokenCloud
public import PowerAuthProtocol

extension Emulator {
    /// A device inside the server: an activation that decides operations by a rule, or by hand.
    ///
    /// It speaks the protocol like any client. Its requests are in the journal under its name, faults apply to them, and the
    /// server counts its errors.
    public struct VirtualDevice: Sendable, Codable, Hashable, Identifiable {
        /// A device's work on one operation.
        public struct Task: Sendable, Codable, Hashable {
            /// The state of a task.
            public enum State: String, Sendable, Codable, CaseIterable {
                /// Waiting for its time, or for another attempt.
                case waiting
                /// In progress.
                case underWay
                /// The server accepted the decision.
                case done
                /// The server refused it, or no attempt is left.
                case failed
            }

            /// The identifier of the operation.
            public var operationID: String
            /// The decision of the device.
            public var decision: DeviceDecision
            /// Indicates whether a person requested it instead of the rule.
            public var isByHand: Bool
            /// The state of the task.
            public var state: State
            /// The time of the decision.
            public var due: Date
            /// The reason of the last failure: the journal's finding about a refusal, or a missing response.
            public var failure: String?
        }

        /// The identifier of the device's activation.
        public var id: String
        /// The device's own name.
        public var name: String
        /// The protocol version, such as `3.3`.
        public var version: String
        /// The suite of a device of version 4, such as `EC_P384`.
        public var suite: AlgorithmSuite?
        /// The user of the device; `nil` once its activation is unknown.
        public var userID: String?
        /// The application of its activation.
        public var applicationID: String?
        /// The status of its activation, as in ``ActivationSummary/status``.
        public var status: CloudClient.RegistrationStatus?
        /// The decision rule.
        public var rule: DeviceRule
        /// The time of creation.
        public var created: Date
        /// The reason the last look for operations failed; `nil` if it succeeded.
        public var failure: String?
        /// The open operations, and the last 100 decided ones; oldest first.
        public var tasks: [Task]
    }
}

extension Emulator.VirtualDevice.Task: Described {
    package static let fields = FieldTable(
        "DeviceTask",
        Self.init(operationID:decision:isByHand:state:due:failure:),
        .required("operationId", \.operationID, .string),
        .required("decision", \.decision, .decision()),
        .required("isByHand", \.isByHand, .boolean),
        .required("state", \.state, .cases()),
        .required("due", \.due, .date, "The time of its decision, in the future or the past."),
        .optional("failure", \.failure, .string, "The finding about a refusal, or that there was no response.")
    )
}

extension Emulator.VirtualDevice: Described {
    package static let fields = FieldTable(
        "VirtualDevice",
        Self.init(id:name:version:suite:userID:applicationID:status:rule:created:failure:tasks:),
        .required("id", \.id, .string, "The identifier of its activation."),
        .required("name", \.name, .string),
        .required("version", \.version, .string),
        .optional("suite", \.suite, .cases(), "The suite of a device of version 4."),
        .optional("userId", \.userID, .string),
        .optional("applicationId", \.applicationID, .string),
        .optional("status", \.status, .registrationStatus),
        .required("rule", \.rule, .described),
        .required("created", \.created, .date),
        .optional("failure", \.failure, .string, "The reason it could not look for operations to decide."),
        .required(
            "tasks",
            \.tasks,
            .list(of: .described),
            "The operations that it is to decide, and has decided; oldest first."
        )
    )
}

extension Emulator.VirtualDevice {
    /// - Parameter activation: The device's activation at the server; `nil` if it is unknown.
    init(_ device: DeviceRoster.Device, _ activation: Emulator.ActivationSummary?) {
        self.init(
            id: device.id,
            name: device.name,
            version: device.version,
            suite: activation?.suite,
            userID: activation?.userID,
            applicationID: activation?.applicationID,
            status: activation?.status,
            rule: device.rule,
            created: Date(milliseconds: device.created),
            failure: device.failure,
            tasks: device.tasks.map { task in
                Task(
                    operationID: task.operationID,
                    decision: task.decision,
                    isByHand: task.isByHand,
                    state: task.state,
                    due: Date(milliseconds: task.due),
                    failure: task.failure
                )
            }
        )
    }
}

extension Emulator {
    struct NewDevice: Sendable {
        enum Origin: Sendable {
            case user(String)
            case activationCode(String)
            /// A sign-in of the user at one of the server's OpenID providers.
            case openID(provider: String, userID: String)
        }

        enum Push: String, Sendable, CaseIterable {
            case apns, fcm, hms
        }

        var origin: Origin
        /// The application of the device; `nil` for the code's, or else the server's own.
        var applicationID: String?
        /// The additional code that the registration requires.
        var otp: String?
        var name: String?
        var version = ProtocolVersion.v3_3
        /// The suite for version 4; `nil` for one that the server offers.
        var suite: AlgorithmSuite?
        var push: Push?
        var rule = DeviceRule()

        var displayName: String { self.name ?? "virtual device" }

        func check() throws(EmulatorError) {
            if let name, name.isEmpty || name.utf8.count > 255 {
                throw EmulatorError(.invalidConfiguration, "'name' must have 1 to 255 bytes")
            }
            if self.suite != nil, self.version != .v4_0 {
                throw EmulatorError(.invalidConfiguration, "'suite' is for a device of version 4.0")
            }
            try self.rule.check()
        }

        static func version(named name: String) throws(EmulatorError) -> ProtocolVersion { try Self.named(name) }
        static func push(named name: String) throws(EmulatorError) -> Push { try Self.named(name) }

        private static func named<Value>(_ name: String) throws(EmulatorError) -> Value
        where Value: RawRepresentable<String> & CaseIterable {
            if let value = Value(rawValue: name) { return value }
            let known = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw EmulatorError(.invalidConfiguration, "'\(name)' is none of \(known)")
        }
    }

    /// A manual decision.
    struct DecisionRequest: Sendable {
        var operationID: String
        var decision: DeviceDecision
        var reason: String
        var proximityCode: String?

        func check() throws(EmulatorError) {
            guard self.decision != .never else {
                throw EmulatorError(.invalidConfiguration, "'decision' must be approve, reject or wrongPassword")
            }
            try DeviceRule.check(reason: self.reason)
        }
    }
}

extension Emulator.NewDevice: Described {
    static let fields = FieldTable(
        "NewDevice",
        Emulator.NewDevice.init(userID:activationCode:otp:provider:applicationID:name:version:suite:push:rule:),
        .optional(
            "userId",
            \.origin.userID,
            .word,
            "Registers, activates and commits it for this user.",
            example: "alice"
        ),
        .optional(
            "activationCode",
            \.origin.activationCode,
            .word,
            "Activates it with this code; who registered it commits it."
        ),
        .optional("otp", \.otp, .word, "With 'activationCode': the code that the registration asks the device for."),
        .optional(
            "provider",
            \.origin.provider,
            .word,
            "Signs the user in at this OpenID provider of the server, in the place of a registration: 'emulator' is one."
        ),
        .optional(
            "appId",
            \.applicationID,
            .word,
            "The application; that of the activation code, or else the server's own, if left out."
        ),
        .optional(
            "name",
            \.name,
            .word,
            "Its name, also in the journal; 255 bytes at most.",
            example: "Alice's phone"
        ),
        .preset("version", \.version, .cases(), or: .v3_3, "3.3 by default.", example: .v4_0),
        .optional(
            "suite",
            \.suite,
            .cases(),
            "The suite of a device of version 4.0; by default EC_P384, if it is offered."
        ),
        .optional("push", \.push, .cases(), "Registers it for the push messages of this service."),
        .preset(
            "rule",
            \.rule,
            .described,
            or: Emulator.DeviceRule(),
            "Its rule for decisions; by default it approves at once."
        )
    ).stating(.either("userId", or: "activationCode"), .needs("provider", with: "userId"))
        .refusing { device in
            guard device.otp != nil, device.origin.activationCode == nil else { return nil }
            return .init(member: "otp", hint: "needs 'activationCode' beside it")
        }

    private init(
        userID: String?,
        activationCode: String?,
        otp: String?,
        provider: String?,
        applicationID: String?,
        name: String?,
        version: ProtocolVersion,
        suite: AlgorithmSuite?,
        push: Push?,
        rule: Emulator.DeviceRule
    ) throws(Schema.Objection) {
        switch (userID, activationCode, provider) {
        case (let userID?, nil, nil): self.origin = .user(userID)
        case (nil, let code?, nil): self.origin = .activationCode(code)
        case (let userID?, nil, let provider?): self.origin = .openID(provider: provider, userID: userID)
        // The table's rules exclude all other cases.
        default: throw .init(member: "", hint: "needs either 'userId' or 'activationCode'")
        }
        (self.otp, self.applicationID, self.name, self.version) = (otp, applicationID, name, version)
        (self.suite, self.push, self.rule) = (suite, push, rule)
    }
}

extension Emulator.NewDevice.Origin {
    fileprivate var userID: String? {
        switch self {
        case .user(let id), .openID(_, let id): id
        case .activationCode: nil
        }
    }
    fileprivate var provider: String? { if case .openID(let provider, _) = self { provider } else { nil } }
    var activationCode: String? { if case .activationCode(let code) = self { code } else { nil } }
}

extension Emulator.DecisionRequest: Described {
    static let fields = FieldTable(
        "DeviceDecision",
        Emulator.DecisionRequest.init(operationID:decision:reason:proximityCode:),
        .required(
            "operationId",
            \.operationID,
            .word,
            example: "0f038bac-6c94-45eb-b3a9-f92e809e8ea4"
        ),
        .required("decision", \.decision, .decision([.approve, .reject, .wrongPassword]), example: .approve),
        .preset("reason", \.reason, .word, or: "UNKNOWN", "The reason of a rejection; UNKNOWN by default."),
        .optional("proximityCode", \.proximityCode, .word, "The one-time code that the user has scanned.")
    )
}
