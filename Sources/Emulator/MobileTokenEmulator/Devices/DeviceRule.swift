package import APIDescriptions
import ExactJSON

extension Emulator {
    /// A virtual device's decision on an operation. A struct, so that adding one breaks no `switch`.
    public struct DeviceDecision: Sendable, Codable, Hashable, CustomStringConvertible {
        enum Base: String, Codable, Sendable, CaseIterable {
            case approve, reject, wrongPassword, never
        }

        let base: Base

        /// Approves with possession and password.
        public static let approve = Self(base: .approve)
        /// Rejects with the rule's reason.
        public static let reject = Self(base: .reject)
        /// Tries once to approve with a wrong password, which the server counts.
        public static let wrongPassword = Self(base: .wrongPassword)
        /// Decides nothing by itself.
        public static let never = Self(base: .never)

        init(base: Base) { self.base = base }

        /// Decodes the decision's name.
        public init(from decoder: any Decoder) throws {
            self.base = try decoder.singleValueContainer().decode(Base.self)
        }

        /// Encodes the decision's name.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self.base)
        }

        /// The decision's name.
        public var description: String { self.base.rawValue }
    }

    /// The rule by which a virtual device decides its operations.
    public struct DeviceRule: Sendable, Codable, Hashable {
        /// The decision on each operation.
        public var decision: DeviceDecision
        /// The delay in seconds since the device first saw the operation, by the server's clock: 0, the default, to a day.
        public var after: Double
        /// The reason of a rejection, for the bank.
        public var reason: String

        /// Creates a rule; by default the device approves at once.
        public init(_ decision: DeviceDecision = .approve, after: Double = 0, reason: String = "UNKNOWN") {
            self.decision = decision
            self.after = after
            self.reason = reason
        }

        /// Decodes a rule; omitted members have their defaults.
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
    /// The allowed delays in seconds.
    static let delays: ClosedRange<Double> = 0...86_400
    static let maximumReasonLength = 255

    /// - Throws: `invalidConfiguration` for an impossible rule.
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
