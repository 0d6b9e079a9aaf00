import Basics
import Foundation

/// The acts done to a world, and their moments: drawn from a seed as a whole, so that it can be shortened and kept.
struct Plan: Codable {
    /// One thing that happens to the world from outside.
    enum Act: Codable, Equatable {
        /// A moment in the life of a node at which something happens to it.
        enum Moment: Codable, Equatable {
            /// After so many more steps of its process.
            case steps(Int)
            /// As the database commits its next intent, of which it does not know yet.
            case intent
            /// As its next decision leaves.
            case sending
            /// As the bank has answered its next decision.
            case answer
            /// As the bank has answered its next question about a counter.
            case question
        }

        /// The bank makes an operation for a device.
        case make(Kind, device: Int)
        /// The bank cancels one of the operations that wait.
        case cancel
        /// The bank blocks a device for so many seconds.
        case block(device: Int, seconds: Int)
        /// A person decides the oldest operation of a device by hand.
        case decideByHand(device: Int)
        /// Somebody pauses decisions for so many seconds.
        case pause(seconds: Int)
        /// A node dies, and is started again after so many seconds.
        case kill(node: Int, at: Moment, seconds: Int)
        /// A node is asked to end, and is started again after so many seconds.
        case stop(node: Int, seconds: Int)
        /// A node stands still for so many seconds.
        case freeze(node: Int, at: Moment, seconds: Int)
        /// The next change that a node makes reaches the database after so many seconds, and the node stands still a second longer.
        case stall(node: Int, seconds: Int)
        /// A standby that lacks the last second takes over as a node asks for its next lease, which reaches it after so many seconds.
        case promoteAtLease(node: Int, seconds: Int)
        /// A standby that lacks the last second takes over, and a node stands still for so many seconds.
        case promote(node: Int, at: Moment, seconds: Int)
        /// The clock of the database jumps ahead by so many seconds, or back.
        case setDatabaseClock(seconds: Int)
        /// A person upgrades a device to version 4 of the protocol.
        case upgrade(device: Int)
        /// A person makes a token, of two factors or of one; all of a device have one name.
        case makeToken(device: Int, isStrong: Bool)
        /// Somebody asks the person of a device for an approval, and acts by it.
        case ask(device: Int)
        /// The asker dies, and is started again after so many seconds.
        case killAsker(at: AskerMoment, seconds: Int)
        /// A node is drawn less often than others, for so many seconds.
        case starve(node: Int, seconds: Int)
        /// A node reaches neither the bank nor the database for so many seconds.
        case cut(node: Int, seconds: Int)
        /// The wall clock of a node is set to so many seconds before or after the right time.
        case setClock(node: Int, seconds: Int)
        /// The database is away for so many seconds.
        case stopDatabase(seconds: Int)
        /// The disk of the database is full for so many seconds.
        case fillDisk(seconds: Int)
        /// The database goes back by so many seconds: to a standby that lacked the last commits, on another timeline, or to a backup.
        case goBack(seconds: Int, isPromotion: Bool)
        /// Another server, with the contents of so many seconds ago and the same timeline, takes the place of the database behind a
        /// pooler, which keeps the connections of the nodes.
        case replaceServer(seconds: Int)
        /// The same with what was a second ago, and a node stands still for so many seconds.
        case replaceServerAt(node: Int, at: Moment, seconds: Int)
        /// The row of one activation is put back by so many seconds.
        case putBackRow(device: Int, seconds: Int)
    }

    /// The kind of an operation, and the policy's verdict on it.
    enum Kind: String, Codable, CaseIterable {
        case login, quickLogin, smallPayment, largePayment
        /// The screen cannot be understood as a whole. A policy that is asked all the same approves it.
        case trap
        /// A question of somebody who asks: the bank makes none by itself.
        case question

        var template: String {
            switch self {
            case .login: "login"
            case .quickLogin: "login_1FA"
            case .smallPayment, .largePayment: "payment"
            case .trap: "strange"
            case .question: "deploy"
            }
        }

        var amount: String? {
            switch self {
            case .smallPayment: "49.90"
            case .largePayment: "50.01"
            case .login, .quickLogin, .trap, .question: nil
            }
        }

        /// `true` if an agent approves it, `false` if it rejects it, and `nil` for an operation that is left to people.
        var isApproved: Bool? {
            switch self {
            case .login, .smallPayment, .question: true
            case .quickLogin: false
            case .largePayment, .trap: nil
            }
        }
    }

    /// A moment in the life of who asks.
    enum AskerMoment: Codable, Equatable {
        case steps(Int)
        /// In the middle of the next action.
        case action
    }

    struct Entry: Codable {
        let milliseconds: Int
        let act: Act
    }

    /// The probabilities with which things go wrong by themselves, each time that they could.
    struct Chances: Codable {
        var requestLost = 0.0
        var responseLost = 0.0
        var late = 0.0
        var doubled = 0.0
        var proxyPage = 0.0
        var answerOfDatabaseLost = 0.0
        var callOfDatabaseRefused = 0.0
        var callOfDatabaseLate = 0.0
    }

    let seed: UInt64
    var nodes = 1
    var devices = 3
    var seconds = 80
    var chances = Chances()
    /// `true` if nodes show each other their lists; `nil` in plans that were kept earlier.
    var sharesLists: Bool?
    var entries: [Entry] = []
}

extension Plan {
    init(seed: UInt64) {
        var draw = Draw(seed: seed ^ 0x5eed)
        self.seed = seed
        self.nodes = draw.element(of: [1, 1, 2, 2, 3, 4, 5]) ?? 1
        self.devices = 1 + draw.below(4)
        // Some worlds have one kind of trouble, some have all, some none.
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
        // One world in three is a busy one.
        let count = 4 + draw.below(draw.happens(0.33) ? 160 : 24)
        let isTroubled = (0..<Self.troubleCount).map { _ in draw.happens(0.5) }
        // Few are left to people: they stay in the lists.
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
            // Deaths and frosts most of all.
            let kind = draw.happens(0.25) ? draw.below(2) : draw.below(isTroubled.count)
            if isTroubled[kind] { self.add(self.trouble(kind, &draw), &draw) }
        }
        self.entries.sort { $0.milliseconds < $1.milliseconds }
        self.sharesLists = draw.happens(0.4)
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

    /// A node that freezes with an answer in hand does so until what was signed meanwhile cannot arrive any more.
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
        case .block(let device, let seconds): "the bank blocks device \(device) for \(seconds) s"
        case .decideByHand(let device): "a person takes device \(device) in hand"
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
