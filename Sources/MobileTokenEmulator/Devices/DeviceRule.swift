package import APIDescriptions
import ExactJSON

extension Emulator {
    /// The decision of a virtual device about an operation. A struct, so that adding one breaks no `switch`.
    public struct DeviceDecision: Sendable, Codable, Hashable, CustomStringConvertible {
        enum Base: String, Codable, Sendable, CaseIterable {
            case approve, reject, wrongPassword, never
        }

        let base: Base

        /// Approves, with possession and the password.
        public static let approve = Self(base: .approve)
        /// Rejects, with the rule's reason.
        public static let reject = Self(base: .reject)
        /// Tries to approve with a wrong password, once: the server counts it.
        public static let wrongPassword = Self(base: .wrongPassword)
        /// Decides nothing; somebody decides by hand, or nobody does.
        public static let never = Self(base: .never)

        init(base: Base) { self.base = base }

        /// Reads the decision's name.
        public init(from decoder: any Decoder) throws {
            self.base = try decoder.singleValueContainer().decode(Base.self)
        }

        /// Writes the decision's name.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self.base)
        }

        /// The decision's name.
        public var description: String { self.base.rawValue }
    }

    /// The rule by which a virtual device decides the operations that it is shown.
    public struct DeviceRule: Sendable, Codable, Hashable {
        /// The decision about each operation.
        public var decision: DeviceDecision
        /// The delay in seconds after it was first shown the operation, by the server's clock: 0, the default, to a day.
        public var after: Double
        /// The reason that a rejection gives to the bank.
        public var reason: String

        /// A rule; by default the device approves at once.
        public init(_ decision: DeviceDecision = .approve, after: Double = 0, reason: String = "UNKNOWN") {
            self.decision = decision
            self.after = after
            self.reason = reason
        }

        /// Reads a rule; what is left out has its default.
        public init(from decoder: any Decoder) throws { try self.init(json: JSONValue(from: decoder)) }
    }
}

extension Form<Emulator.DeviceDecision> {
    static func decision(_ bases: [Emulator.DeviceDecision.Base] = Emulator.DeviceDecision.Base.allCases) -> Self {
        Form<Emulator.DeviceDecision.Base>.cases(of: bases).map(Emulator.DeviceDecision.init(base:), from: \.base)
    }
}

extension Emulator.DeviceRule: Described {
    package static let fields = FieldTable(
        "DeviceRule",
        Emulator.DeviceRule.init(_:after:reason:),
        .preset("decision", \.decision, .decision(), or: .approve, "approve by default.", example: .approve),
        .preset(
            "after",
            \.after,
            .number(Self.delays),
            or: 0,
            "Seconds after it was first shown the operation, by the server's clock; 0 by default.",
            example: 3,
            unit: .seconds
        ),
        .preset("reason", \.reason, .word, or: "UNKNOWN", "The reason of a rejection; UNKNOWN by default.")
    )
}

extension Emulator.DeviceRule {
    /// In seconds.
    static let delays: ClosedRange<Double> = 0...86_400
    static let maximumReasonLength = 255

    /// - Throws: `invalidConfiguration` for a rule that no device can keep.
    func check() throws(EmulatorError) {
        guard Self.delays.contains(self.after) else {
            throw EmulatorError(.invalidConfiguration, "'after' must be 0 to 86400 seconds")
        }
        try Self.check(reason: self.reason)
    }

    static func check(reason: String) throws(EmulatorError) {
        guard !reason.isEmpty, reason.utf8.count <= Self.maximumReasonLength else {
            throw EmulatorError(.invalidConfiguration, "'reason' must have 1 to \(Self.maximumReasonLength) bytes")
        }
    }
}
