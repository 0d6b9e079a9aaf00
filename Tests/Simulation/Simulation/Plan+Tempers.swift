// Swarms: a temper leaves out most kinds of trouble and makes others frequent, so that in some worlds meet what seldom meets in others.
extension Plan {
    enum Temper: CaseIterable {
        /// Apps stay open for minutes, without a network or beside outages, and people decide in them.
        case apps
        /// Programs ask several people, some of whom object late, and are suspended or cut off in between.
        case askers
        /// The bank asks to wait, and the database is away meanwhile.
        case waits
        /// Responses are lost, decisions judged late, and operations changed or decided by hand meanwhile.
        case doubts
        /// Limits bound sums.
        case sums
        /// The database refuses outcomes.
        case refusals
        /// One kind of trouble comes many times.
        case monotony
    }

    mutating func follow(_ temper: Temper, _ draw: inout Draw) {
        switch temper {
        case .apps: self.openApps(&draw)
        case .askers: self.askMuch(&draw)
        case .waits: self.waitMuch(&draw)
        case .doubts: self.doubtMuch(&draw)
        case .sums: self.boundSums(&draw)
        case .refusals:
            self.thin(&draw)
            self.fill(4...20, &draw) { plan, draw in
                .make(draw.happens(0.5) ? .login : .smallPayment, device: draw.below(plan.devices))
            }
            self.fill(2...5, &draw) { _, draw in .refuseOutcomes(seconds: 3 + draw.below(40)) }
        case .monotony:
            let kind = draw.below(Self.troubleCount)
            self.entries.removeAll { $0.act.isTrouble }
            self.fill(6...20, &draw) { plan, draw in plan.trouble(kind, &draw) }
        }
        self.endInTime()
    }

    /// Leaves out what would come after the trouble.
    private mutating func endInTime() {
        self.entries.removeAll { $0.milliseconds > self.seconds * 950 }
    }

    /// Leaves out most of the trouble.
    private mutating func thin(_ draw: inout Draw) {
        self.entries.removeAll { $0.act.isTrouble && draw.happens(0.75) }
    }

    private mutating func fill(
        _ counts: ClosedRange<Int>,
        _ draw: inout Draw,
        _ act: (Plan, inout Draw) -> Act
    ) {
        for _ in 0..<counts.lowerBound + draw.below(counts.count) { self.add(act(self, &draw), &draw) }
    }

    private mutating func openApps(_ draw: inout Draw) {
        self.thin(&draw)
        if self.seconds < 200 { self.stretch(by: 4) }
        for _ in 0...draw.below(3) {
            let device = draw.below(self.devices)
            let start = 1_000 + draw.below(90_000)
            self.entries.append(Entry(milliseconds: start, act: .look(device: device, seconds: 120 + draw.below(100))))
            for _ in 0..<draw.below(3) {
                let moment = start + draw.below(100_000)
                let act = Act.block(device: device, seconds: 10 + draw.below(60))
                self.entries.append(Entry(milliseconds: moment, act: act))
            }
            // For people to decide.
            for _ in 0..<draw.below(4) {
                let act = Act.make(.largePayment, device: device)
                self.entries.append(Entry(milliseconds: start + draw.below(60_000), act: act))
            }
        }
        self.fill(0...8, &draw) { _, draw in .outage(seconds: 2 + draw.below(15)) }
    }

    private mutating func askMuch(_ draw: inout Draw) {
        self.thin(&draw)
        (self.askers, self.asksSeveral, self.endsOnRejection) = (2, true, draw.happens(0.8))
        self.devices = max(2, self.devices)
        self.objector = draw.below(self.devices)
        self.policySeconds = draw.element(of: [0, 6, 12])
        // A slow policy takes an activation's operations one after the other.
        self.entries.removeAll { if case .make = $0.act { true } else { false } }
        self.fill(0...6, &draw) { plan, draw in .make(.smallPayment, device: draw.below(plan.devices)) }
        self.fill(4...9, &draw) { plan, draw in .ask(device: draw.below(plan.devices)) }
        if draw.happens(0.6) {
            self.fill(1...4, &draw) { _, draw in .cutAsker(at: .approval, seconds: 5 + draw.below(14)) }
        }
        if draw.happens(0.6) {
            self.fill(1...4, &draw) { _, draw in .freezeAsker(at: .creation, seconds: 12 + draw.below(16)) }
        }
    }

    private mutating func waitMuch(_ draw: inout Draw) {
        self.thin(&draw)
        (self.nodes, self.devices) = (1 + draw.below(2), Setting.deviceCount)
        // Probes are lost, or sent by nobody.
        self.chances.requestLost = draw.element(of: [0.05, 0.2]) ?? 0
        for _ in 0...2 + draw.below(5) {
            let start = 1_000 + draw.below(self.seconds * 900)
            let seconds = 8 + draw.below(18)
            let gap =
                draw.happens(0.5)
                ? Act.stopDatabase(seconds: seconds) : .cut(node: draw.below(self.nodes), seconds: seconds)
            self.entries.append(Entry(milliseconds: start, act: .outage(seconds: 1 + draw.below(8))))
            self.entries.append(Entry(milliseconds: start + draw.below(15_000), act: gap))
        }
        self.entries.removeAll { $0.act.node.map { $0 >= self.nodes } ?? false }
    }

    private mutating func doubtMuch(_ draw: inout Draw) {
        self.thin(&draw)
        self.chances.responseLost = draw.element(of: [0.1, 0.25, 0.4]) ?? 0
        self.chances.late = draw.element(of: [0, 0.1, 0.2]) ?? 0
        self.chances.judgedLate = draw.element(of: [0, 0, 0.2])
        self.fill(6...20, &draw) { plan, draw in .make(.smallPayment, device: draw.below(plan.devices)) }
        if draw.happens(0.8) { self.fill(4...20, &draw) { _, _ in .amend } }
        if draw.happens(0.4) {
            self.fill(1...5, &draw) { plan, draw in .decideByHand(device: draw.below(plan.devices)) }
        }
        if draw.happens(0.3) { self.fill(1...5, &draw) { _, _ in .cancel } }
    }

    private mutating func boundSums(_ draw: inout Draw) {
        self.thin(&draw)
        // Lists hold a hundred operations, and those over a limit stay in them.
        self.entries.removeAll { if case .make = $0.act { draw.happens(0.7) } else { false } }
        (self.approvalsAllowed, self.sumAllowed) = (nil, draw.element(of: [50, 100, 140, 200]))
        self.fill(3...12, &draw) { plan, draw in .make(.pair, device: draw.below(plan.devices)) }
        self.fill(1...8, &draw) { plan, draw in .make(.smallPayment, device: draw.below(plan.devices)) }
        if draw.happens(0.3), self.seconds < 200 { self.stretch(by: 4) }
    }
}

extension Plan.Act {
    /// Indicates that nobody asked for it.
    fileprivate var isTrouble: Bool {
        switch self {
        case .make, .upgrade, .makeToken, .ask, .strikeOut, .withdraw, .look: false
        default: true
        }
    }
}
