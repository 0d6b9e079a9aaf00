extension OperationsFleet {
    /// Whether nothing is under way or due, so that only time can bring about the next thing: for tests that move a clock.
    package var isQuiet: Bool {
        self.sleepingUntil > self.now && self.members.values.allSatisfy { $0.activity == nil }
    }
}
