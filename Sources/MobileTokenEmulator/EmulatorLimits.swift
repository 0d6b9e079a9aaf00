extension Emulator {
    /// What the server allows. The defaults are those of the real servers.
    ///
    /// Values out of the documented ranges are refused when a server starts.
    public struct Limits: Sendable, Codable, Hashable {
        /// How many steps ahead of its own counter the server looks for a signature's: 1 to 64.
        public var lookAhead: Int = 20
        /// After how many failed authentications in a row an activation is blocked: 1 to 255.
        public var failedAttempts: Int = 5
        /// How many seconds an activation code can be used: up to a year.
        public var activationCodeLifetime: Double = 300
        /// How many seconds a token's timestamp may lie behind the server's time: up to a year.
        public var tokenTimestampAge: Double = 7200
        /// How many seconds a token's timestamp may run ahead of the server's time: up to a year.
        public var tokenTimestampAhead: Double = 60
        /// How many seconds the timestamp of an encrypted request may run ahead of the server's time: up to a year.
        public var encryptionTimestampAhead: Double = 60
        /// How many seconds a temporary key can be used: up to a year.
        public var temporaryKeyLifetime: Double = 300
        /// The step of the proximity code, in whole seconds: 1 to 3600.
        public var proximityCodeStep: Double = 30
        /// After how many failed approvals an operation fails, unless its template says otherwise: 1 to 255.
        public var operationFailures: Int = 5
        /// How many seconds an operation waits for a decision, unless its template says otherwise: up to a year.
        public var operationLifetime: Double = 300
        /// How many operations the list and the history show: 1 to 10 000.
        public var listLength: Int = 100

        /// The limits of the real servers.
        public init() {}
    }
}

// MARK: - Checks

extension Emulator.Configuration {
    /// - Throws: `invalidConfiguration` when there is a value that no server can work with.
    func check() throws(EmulatorError) {
        try self.limits.check()
        try self.capacity.check()
    }
}

extension Emulator.Limits {
    /// - Throws: `invalidConfiguration`, with the name of the value and what it may be.
    func check() throws(EmulatorError) {
        try Self.check(self.lookAhead, "lookAhead", 1...64)
        try Self.check(self.failedAttempts, "failedAttempts", 1...255)
        try Self.check(self.operationFailures, "operationFailures", 1...255)
        try Self.check(self.listLength, "listLength", 1...10_000)
        for (name, seconds) in [
            ("activationCodeLifetime", self.activationCodeLifetime), ("tokenTimestampAge", self.tokenTimestampAge),
            ("tokenTimestampAhead", self.tokenTimestampAhead),
            ("encryptionTimestampAhead", self.encryptionTimestampAhead),
            ("temporaryKeyLifetime", self.temporaryKeyLifetime), ("operationLifetime", self.operationLifetime),
        ] {
            // Time is counted in milliseconds. Not a number is in no range.
            try Self.check(seconds, name, 0.001...31_536_000)
        }
        try Self.check(self.proximityCodeStep, "proximityCodeStep", 1...3600)
        guard self.proximityCodeStep.rounded() == self.proximityCodeStep else {
            throw EmulatorError(
                .invalidConfiguration,
                "The limit 'proximityCodeStep' must be a whole number of seconds"
            )
        }
    }

    private static func check<Value: Comparable & Sendable>(
        _ value: Value,
        _ name: String,
        _ range: ClosedRange<Value>
    ) throws(EmulatorError) {
        guard !range.contains(value) else { return }
        let bounds = "\(range.lowerBound) to \(range.upperBound)"
        throw EmulatorError(.invalidConfiguration, "The limit '\(name)' must be \(bounds), not \(value)")
    }
}

extension Emulator.Capacity {
    /// - Throws: `invalidConfiguration`, with the name of the value.
    func check() throws(EmulatorError) {
        for (name, count) in [
            ("activations", self.activations), ("operations", self.operations), ("messages", self.messages),
            ("tokens", self.tokens), ("applications", self.applications),
            ("flagsPerRegistration", self.flagsPerRegistration), ("storedBytes", self.storedBytes),
            ("faultRules", self.faultRules), ("eventStreams", self.eventStreams),
        ] {
            // Counts are added up; no machine holds as much.
            guard (0...(1 << 48)).contains(count) else {
                throw EmulatorError(.invalidConfiguration, "The capacity '\(name)' cannot be \(count)")
            }
        }
    }
}
