/// Searches for a shorter plan with the same violation.
struct Shrinking {
    let settings: Settings
    let marks: MarkFiles
    let defect: Defect

    private func failure(of plan: Plan) -> String? {
        (try? World.run(plan, self.settings, self.marks, defect: self.defect))?.violation.map(Self.kind)
    }

    /// Returns the violation without its operation: a shorter plan must not fail for another reason.
    private static func kind(_ violation: String) -> String {
        Plan.Kind.allCases.reduce(violation.filter { !$0.isNumber }) { $0.replacing("\($1) ", with: "") }
    }

    func shrunk(_ plan: Plan) -> Plan {
        var plan = plan
        guard let failure = self.failure(of: plan) else { return plan }
        let chances: [WritableKeyPath<Plan.Chances, Double>] = [
            \.requestLost, \.responseLost, \.late, \.doubled, \.proxyPage, \.answerOfDatabaseLost,
            \.callOfDatabaseRefused, \.callOfDatabaseLate,
        ]
        for chance in chances where plan.chances[keyPath: chance] > 0 {
            self.attempt(&plan, failure) { $0.chances[keyPath: chance] = 0 }
        }
        while plan.nodes > 1, self.attempt(&plan, failure, { $0.removeLastNode() }) {}
        var length = plan.entries.count / 2
        while length > 0 {
            var start = 0
            while start < plan.entries.count {
                let range = start..<min(start + length, plan.entries.count)
                if !self.attempt(&plan, failure, { $0.entries.removeSubrange(range) }) { start += length }
            }
            length /= 2
        }
        return plan
    }

    @discardableResult
    private func attempt(_ plan: inout Plan, _ failure: String, _ change: (inout Plan) -> Void) -> Bool {
        var shorter = plan
        change(&shorter)
        guard self.failure(of: shorter) == failure else { return false }
        plan = shorter
        return true
    }
}

extension Plan {
    fileprivate mutating func removeLastNode() {
        self.nodes -= 1
        self.entries.removeAll { $0.act.node.map { $0 >= self.nodes } ?? false }
    }
}

extension Plan.Act {
    var node: Int? {
        switch self {
        case .kill(let node, _, _), .stop(let node, _), .freeze(let node, _, _), .starve(let node, _),
            .cut(let node, _), .setClock(let node, _), .stall(let node, _), .promoteAtLease(let node, _),
            .promote(let node, _, _), .replaceServerAt(let node, _, _):
            node
        default: nil
        }
    }
}
