import EmulatorBackend

// A plan is drawn from its seed as a whole.
extension Plan {
    init(seed: UInt64) {
        var draw = Draw(seed: seed ^ 0x5eed)
        self.seed = seed
        self.nodes = draw.element(of: [1, 1, 2, 2, 3, 4, 5]) ?? 1
        self.devices = 1 + draw.below(4)
        // Some worlds have one kind of trouble, some all, some none.
        let weathers: [Double] = [0, 0.01, 0.03, 0.08]
        let weather: Double = draw.element(of: weathers) ?? 0
        func chance(_ factor: Double) -> Double { draw.happens(0.6) ? weather * factor : 0.0 }
        self.chances = Chances(
            requestLost: chance(1),
            responseLost: chance(1),
            late: chance(0.7),
            doubled: chance(0.3),
            proxyPage: chance(1),
            answerOfDatabaseLost: chance(0.5),
            callOfDatabaseRefused: chance(0.5),
            callOfDatabaseLate: chance(0.3)
        )
        // One world in three is busy.
        let count = 4 + draw.below(draw.happens(0.33) ? 160 : 24)
        let isTroubled = (0..<Self.troubleCount).map { _ in draw.happens(0.5) }
        // Few are left to people, because they stay in the lists.
        for _ in 0..<count {
            let kinds: [Kind] = draw.happens(0.15) ? [.largePayment, .trap] : [.login, .quickLogin, .smallPayment]
            self.add(.make(draw.element(of: kinds) ?? .login, device: draw.below(self.devices)), &draw)
        }
        if draw.happens(0.3) {
            for _ in 0..<1 + draw.below(5) { self.add(.ask(device: draw.below(self.devices)), &draw) }
            for _ in 0..<draw.below(3) {
                let moment: AskerMoment = draw.happens(0.5) ? .action : .steps(draw.below(400))
                self.add(.killAsker(at: moment, seconds: 1 + draw.below(20)), &draw)
            }
        }
        if draw.happens(0.15) { self.add(.upgrade(device: draw.below(self.devices)), &draw) }
        for _ in 0..<draw.below(24) {
            // Mostly kills and suspensions.
            let kind = draw.happens(0.25) ? draw.below(2) : draw.below(isTroubled.count)
            if isTroubled[kind] { self.add(self.trouble(kind, &draw), &draw) }
        }
        self.entries.sort { $0.milliseconds < $1.milliseconds }
        self.chances.judgedLate = chance(2)
        self.chances.overdue = draw.element(of: [0, 0, 0.3])
        self.requestsPerSecond = draw.element(of: [40, 40, 12])
        self.proxySeconds = draw.element(of: [0, 0, 8])
        if draw.happens(0.5) { for _ in 0...draw.below(16) { self.add(.change, &draw) } }
        self.asksSeveral = draw.happens(0.5)
        // Lists hold a hundred operations, and what a limit leaves stays in them.
        if self.entries.count < 60, draw.happens(0.4) { self.approvalsAllowed = 1 + draw.below(4) }
        if draw.happens(0.3) {
            for _ in 0...draw.below(3) {
                self.add(.ask(device: draw.below(self.devices)), &draw)
                if draw.happens(0.5) { self.add(.strikeOut(device: draw.below(self.devices)), &draw) }
                if draw.happens(0.5) { self.add(.withdraw, &draw) }
            }
        }
        if draw.happens(0.15) { self.add(.mistype(device: draw.below(self.devices)), &draw) }
        self.entries.sort { $0.milliseconds < $1.milliseconds }
        self.askers = draw.element(of: [1, 1, 2])
        // Answers of 1.9 were recorded, and those of the backend are compared with them; it knows no upgrade.
        let isRecorded =
            draw.happens(0.75)
            && !self.entries.contains { if case .upgrade = $0.act { true } else { false } }
        self.release = isRecorded ? .v1_9 : .v2_2
        self.addPeople(&draw)
        self.chances.slowDatabase = draw.element(of: [0, 0, 0.01, 0.05])
        // A closed limit opens after two minutes.
        if self.approvalsAllowed != nil, draw.happens(0.3) { self.stretch(by: 4) }
        if draw.happens(0.5), let temper = draw.element(of: Temper.allCases) { self.follow(temper, &draw) }
        self.entries.sort { $0.milliseconds < $1.milliseconds }
    }

    /// Adds people who look, decide and object, and outages of the bank.
    private mutating func addPeople(_ draw: inout Draw) {
        if draw.happens(0.3) {
            for _ in 0...draw.below(3) { self.add(.outage(seconds: 1 + draw.below(10)), &draw) }
        }
        if draw.happens(0.3) {
            for _ in 0...draw.below(3) { self.add(.decideByHand(device: draw.below(self.devices)), &draw) }
        }
        if draw.happens(0.25) {
            let device = draw.below(self.devices)
            for _ in 0...draw.below(2) { self.add(.look(device: device, seconds: 40 + draw.below(60)), &draw) }
            if draw.happens(0.3) { self.add(.block(device: device, seconds: 20 + draw.below(60)), &draw) }
        }
        if draw.happens(0.15) { for _ in 0...1 { self.add(.mistype(device: draw.below(self.devices)), &draw) } }
        if draw.happens(0.06) { self.wrongFactor = draw.below(self.devices) }
        self.objector = draw.happens(0.3) ? draw.below(self.devices) : nil
        self.endsOnRejection = draw.happens(0.5)
    }

    mutating func stretch(by factor: Int) {
        self.seconds *= factor
        self.entries = self.entries.map { Entry(milliseconds: $0.milliseconds * factor, act: $0.act) }
    }

    mutating func add(_ act: Act, _ draw: inout Draw) {
        self.entries.append(Entry(milliseconds: 1_000 + draw.below(self.seconds * 900), act: act))
    }

    static let troubleCount = 19

    private func moment(_ draw: inout Draw) -> Act.Moment {
        switch draw.below(6) {
        case 0: .intent
        case 1: .sending
        case 2: .answer
        case 3: .question
        default: .steps(draw.below(400))
        }
    }

    /// Returns a suspension; with a response in hand it lasts until earlier requests can no longer arrive.
    private func frost(of node: Int, at moment: Act.Moment, _ draw: inout Draw) -> Act {
        .freeze(node: node, at: moment, seconds: (moment == .question ? 25 : 1) + draw.below(30))
    }

    func trouble(_ kind: Int, _ draw: inout Draw) -> Act {
        let (node, device) = (draw.below(self.nodes), draw.below(self.devices))
        return switch kind {
        case 0: .kill(node: node, at: self.moment(&draw), seconds: 1 + draw.below(20))
        case 1: self.frost(of: node, at: self.moment(&draw), &draw)
        case 2: .stop(node: node, seconds: 1 + draw.below(20))
        case 3: .cut(node: node, seconds: 1 + draw.below(30))
        case 4: .setClock(node: node, seconds: draw.below(7_200) - 3_600)
        case 5: .stopDatabase(seconds: 1 + draw.below(20))
        case 6: .fillDisk(seconds: 1 + draw.below(20))
        case 7: .goBack(seconds: 1 + draw.below(30), isPromotion: draw.happens(0.5))
        case 8: .cancel
        case 9: .block(device: device, seconds: 5 + draw.below(40))
        case 10: .decideByHand(device: device)
        case 11: .pause(seconds: 1 + draw.below(30))
        case 12:
            draw.happens(0.7)
                ? .stall(node: node, seconds: 1 + draw.below(12))
                : .promoteAtLease(node: node, seconds: 1 + draw.below(6))
        case 13: .promote(node: node, at: self.moment(&draw), seconds: 1 + draw.below(8))
        case 14: .setDatabaseClock(seconds: draw.happens(0.5) ? 1 + draw.below(60) : -1 - draw.below(600))
        case 15: .makeToken(device: device, isStrong: draw.happens(0.6))
        case 16:
            draw.happens(0.5)
                ? .replaceServer(seconds: 1 + draw.below(30))
                : .replaceServerAt(node: node, at: self.moment(&draw), seconds: 1 + draw.below(5))
        case 17: .putBackRow(device: device, seconds: 1 + draw.below(30))
        default: .starve(node: node, seconds: 1 + draw.below(30))
        }
    }
}
