extension Emulator {
    /// What a virtual device does about an operation. A struct, so that adding one breaks no `switch`.
    public struct DeviceDecision: Sendable, Codable, Hashable, CustomStringConvertible {
        enum Base: String, Codable, CaseIterable {
            case approve, reject, wrongPassword, never
        }

        let base: Base

        /// Approves, with possession and the password.
        public static let approve = Self(base: .approve)
        /// Rejects.
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

    /// How a virtual device decides the operations that it is shown.
    public struct DeviceRule: Sendable, Codable, Hashable {
        /// What it does.
        public var decision: DeviceDecision
        /// How many seconds after it was first shown the operation, by the server's clock: 0, the default, to a day.
        public var after: Double
        /// The reason of a rejection.
        public var reason: String

        /// A rule; by default the device approves at once.
        public init(_ decision: DeviceDecision = .approve, after: Double = 0, reason: String = "UNKNOWN") {
            self.decision = decision
            self.after = after
            self.reason = reason
        }

        private enum CodingKeys: CodingKey { case decision, after, reason }

        /// Reads a rule; what is left out has its default.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.init(
                try container.decodeIfPresent(DeviceDecision.self, forKey: .decision) ?? .approve,
                after: try container.decodeIfPresent(Double.self, forKey: .after) ?? 0,
                reason: try container.decodeIfPresent(String.self, forKey: .reason) ?? "UNKNOWN"
            )
        }
    }
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
