import Basics
import EmulatorBackend
import Foundation

/// The acts done to a world, with their times: all drawn from a seed at once, so that a plan can be shortened and stored.
struct Plan: Codable, Sendable {
    /// An external event of the world.
    enum Act: Codable, Equatable {
        /// A moment in a node's life for an event.
        enum Moment: Codable, Equatable {
            /// After this many steps of its process.
            case steps(Int)
            /// When the database commits its next intent, before it knows.
            case intent
            /// When its next decision is sent.
            case sending
            /// When the bank has responded to its next decision.
            case answer
            /// When the bank has responded to its next status request.
            case question
        }

        /// The bank makes an operation for a device.
        case make(Kind, device: Int)
        /// The bank cancels a pending operation.
        case cancel
        /// The bank changes the amount of a payment that waits.
        case change
        /// The bank blocks a device for some seconds.
        case block(device: Int, seconds: Int)
        /// A person decides a device's oldest operation by hand.
        case decideByHand(device: Int)
        /// A person mistypes the password while deciding a device's oldest operation by hand.
        case mistype(device: Int)
        /// A person pauses decisions for some seconds.
        case pause(seconds: Int)
        /// A node is killed, and restarted after some seconds.
        case kill(node: Int, at: Moment, seconds: Int)
        /// A node is asked to end, and restarted after some seconds.
        case stop(node: Int, seconds: Int)
        /// A node is suspended for some seconds.
        case freeze(node: Int, at: Moment, seconds: Int)
        /// A node's next change reaches the database after some seconds, and the node is suspended a second longer.
        case stall(node: Int, seconds: Int)
        /// A standby that lacks the last second takes over as a node requests its next lease, which arrives after some seconds.
        case promoteAtLease(node: Int, seconds: Int)
        /// A standby that lacks the last second takes over, and a node is suspended for some seconds.
        case promote(node: Int, at: Moment, seconds: Int)
        /// The database's clock jumps by some seconds, forward or back.
        case setDatabaseClock(seconds: Int)
        /// A person upgrades a device to protocol version 4.
        case upgrade(device: Int)
        /// A person makes a token with two factors or one; all tokens of a device share a name.
        case makeToken(device: Int, isStrong: Bool)
        /// The requester asks a device's person for an approval, and acts on it.
        case ask(device: Int)
        /// A device's person may approve no question any more.
        case strikeOut(device: Int)
        /// The requester withdraws its last question.
        case withdraw
        /// The requester is killed, and restarted after some seconds.
        case killAsker(at: AskerMoment, seconds: Int)
        /// A node is scheduled less often than others for some seconds.
        case starve(node: Int, seconds: Int)
        /// A node reaches neither the bank nor the database for some seconds.
        case cut(node: Int, seconds: Int)
        /// A node's wall clock is set some seconds before or after the correct time.
        case setClock(node: Int, seconds: Int)
        /// The database is unavailable for some seconds.
        case stopDatabase(seconds: Int)
        /// The database's disk is full for some seconds.
        case fillDisk(seconds: Int)
        /// The database goes back some seconds: to a standby that lacks the last commits, on another timeline, or to a backup.
        case goBack(seconds: Int, isPromotion: Bool)
        /// Another server with older content and the same timeline replaces the database behind a pooler, which keeps the nodes'
        /// connections.
        case replaceServer(seconds: Int)
        /// The same with content one second old, and a node is suspended for some seconds.
        case replaceServerAt(node: Int, at: Moment, seconds: Int)
        /// An activation's row is restored from some seconds ago.
        case putBackRow(device: Int, seconds: Int)
        /// The bank's front answers for some seconds with pages, whatever the bank does behind it.
        case outage(seconds: Int)
        /// A person looks at a device's list for some seconds.
        case look(device: Int, seconds: Int)
    }

    /// The kind of an operation, with the policy's verdict on it.
    enum Kind: String, Codable, CaseIterable {
        case login, quickLogin, smallPayment, largePayment
        /// An incomplete operation. A policy that is asked nevertheless approves it.
        case trap
        /// A payment that people decide, for a few seconds.
        case brief
        /// A requester's question: the bank makes none by itself.
        case question
        /// The same to the person who rejects all.
        case refusedQuestion

        var template: String {
            switch self {
            case .login: "login"
            case .quickLogin: "login_1FA"
            case .smallPayment, .largePayment: "payment"
            case .trap: "strange"
            case .brief: "brief"
            case .question, .refusedQuestion: "deploy"
            }
        }

        var amount: String? {
            switch self {
            case .smallPayment: "49.90"
            case .largePayment: "50.01"
            case .login, .quickLogin, .trap, .brief, .question, .refusedQuestion: nil
            }
        }

        /// The payment that a payment becomes when its amount changes.
        var other: Self { self == .smallPayment ? .largePayment : .smallPayment }

        /// `true` if an agent approves it, `false` if it rejects it, `nil` if it leaves it to people.
        var isApproved: Bool? {
            switch self {
            case .login, .smallPayment, .question: true
            case .quickLogin, .refusedQuestion: false
            case .largePayment, .trap, .brief: nil
            }
        }
    }

    /// A moment in the requester's life.
    enum AskerMoment: Codable, Equatable {
        case steps(Int)
        /// During the next action.
        case action
    }

    struct Entry: Codable {
        let milliseconds: Int
        let act: Act
    }

    /// The probabilities of spontaneous failures, at each opportunity.
    struct Chances: Codable {
        var requestLost = 0.0
        var responseLost = 0.0
        var late = 0.0
        var doubled = 0.0
        var proxyPage = 0.0
        var answerOfDatabaseLost = 0.0
        var callOfDatabaseRefused = 0.0
        var callOfDatabaseLate = 0.0
        /// That the bank judges a signed request later than it arrives; `nil` in plans that were kept earlier.
        var judgedLate: Double?
        /// That a late decision comes when its right to arrive is over; `nil` in plans that were kept earlier.
        var overdue: Double?
        /// That a call of the database takes seconds; `nil` in plans that were kept earlier.
        var slowDatabase: Double?
    }

    let seed: UInt64
    var nodes = 1
    var devices = 3
    var seconds = 80
    /// The fleet's limit, and the time for which a proxy may hold a request; `nil` in plans that were kept earlier.
    var requestsPerSecond: Int?
    var proxySeconds: Int?
    /// Indicates whether questions go to several people.
    var asksSeveral: Bool?
    /// The number of the requester's programs, and the release of the bank's server; `nil` in plans that were kept earlier, for one
    /// and the newest.
    var askers: Int?
    var release: EmulatorServerProfile.Release?
    /// The number of approvals of an activation that agents may make in a minute; `nil` for any.
    var approvalsAllowed: Int?
    /// The device whose password agents have wrong; `nil` for none.
    var wrongFactor: Int?
    /// The device whose person rejects all questions, and whether that ends them; `nil` for none, and in plans that were kept earlier.
    var objector: Int?
    var endsOnRejection: Bool?
    var chances = Chances()
    var entries: [Entry] = []
}

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

    private mutating func stretch(by factor: Int) {
        self.seconds *= factor
        self.entries = self.entries.map { Entry(milliseconds: $0.milliseconds * factor, act: $0.act) }
    }

    private mutating func add(_ act: Act, _ draw: inout Draw) {
        self.entries.append(Entry(milliseconds: 1_000 + draw.below(self.seconds * 900), act: act))
    }

    private static let troubleCount = 19

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

    private func trouble(_ kind: Int, _ draw: inout Draw) -> Act {
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

extension Plan.Act: CustomStringConvertible {
    var description: String {
        switch self {
        case .make(let kind, let device): "the bank makes a \(kind.rawValue) for device \(device)"
        case .cancel: "the bank cancels an operation"
        case .change: "the bank changes a payment"
        case .block(let device, let seconds): "the bank blocks device \(device) for \(seconds) s"
        case .decideByHand(let device): "a person takes device \(device) in hand"
        case .mistype(let device): "a person mistypes the password of device \(device)"
        case .pause(let seconds): "decisions are paused for \(seconds) s"
        case .kill(let node, let moment, let seconds): "node \(node) dies \(moment), for \(seconds) s"
        case .stop(let node, let seconds): "node \(node) is asked to end, for \(seconds) s"
        case .freeze(let node, let moment, let seconds): "node \(node) freezes \(moment), for \(seconds) s"
        case .stall(let node, let seconds): "the next change of node \(node) takes \(seconds) s, and it freezes"
        case .promoteAtLease(let node, let seconds):
            "a standby takes over as node \(node) asks for its next lease, which takes \(seconds) s"
        case .promote(let node, let moment, let seconds):
            "a standby takes over \(moment) of node \(node), which freezes for \(seconds) s"
        case .setDatabaseClock(let seconds):
            "the clock of the database jumps \(abs(seconds)) s \(seconds < 0 ? "back" : "ahead")"
        case .upgrade(let device): "a person upgrades device \(device)"
        case .makeToken(let device, let isStrong):
            "a person makes a token of \(isStrong ? "two factors" : "one factor") for device \(device)"
        case .ask(let device): "somebody asks the person of device \(device)"
        case .strikeOut(let device): "the person of device \(device) may approve nothing any more"
        case .withdraw: "the last question is withdrawn"
        case .killAsker(let moment, let seconds):
            "who asks dies \(moment == .action ? "in the next action" : "soon"), for \(seconds) s"
        case .starve(let node, let seconds): "node \(node) is starved for \(seconds) s"
        case .cut(let node, let seconds): "node \(node) reaches nobody for \(seconds) s"
        case .setClock(let node, let seconds): "the clock of node \(node) is set \(seconds) s ahead"
        case .stopDatabase(let seconds): "the database is away for \(seconds) s"
        case .fillDisk(let seconds): "the disk of the database is full for \(seconds) s"
        case .goBack(let seconds, let isPromotion):
            "the database goes back by \(seconds) s\(isPromotion ? ", a standby on another timeline" : ", a backup")"
        case .replaceServerAt(let node, let moment, let seconds):
            "another server takes over \(moment) of node \(node), which freezes for \(seconds) s"
        case .replaceServer(let seconds): "another server takes over, with what was \(seconds) s ago"
        case .putBackRow(let device, let seconds): "the row of device \(device) is put back by \(seconds) s"
        case .outage(let seconds): "the bank is out of order for \(seconds) s"
        case .look(let device, let seconds): "a person looks at the list of device \(device) for \(seconds) s"
        }
    }
}

extension Plan.Act.Moment: CustomStringConvertible {
    var description: String {
        switch self {
        case .steps(let count): "in \(count) steps"
        case .intent: "as its next intent is committed"
        case .sending: "as its next decision leaves"
        case .answer: "as its next decision is answered"
        case .question: "as its next question about a counter is answered"
        }
    }
}
