import Basics
import Foundation

/// What is done to a world, and when: drawn from a seed as a whole, so that it can be shortened and kept.
struct Plan: Codable {
    /// One thing that happens to the world from outside.
    enum Act: Codable, Equatable {
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
        /// A node dies after so many more of its steps, and is started again after so many seconds.
        case kill(node: Int, steps: Int, seconds: Int)
        /// A node is asked to end, and is started again after so many seconds.
        case stop(node: Int, seconds: Int)
        /// A node stands still after so many more of its steps, for so many seconds.
        case freeze(node: Int, steps: Int, seconds: Int)
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
    }

    /// What an operation is, and what the policy makes of it.
    enum Kind: String, Codable, CaseIterable {
        case login, quickLogin, smallPayment, largePayment

        var template: String {
            switch self {
            case .login: "login"
            case .quickLogin: "login_1FA"
            case .smallPayment, .largePayment: "payment"
            }
        }

        var amount: String? {
            switch self {
            case .smallPayment: "49.90"
            case .largePayment: "50.01"
            case .login, .quickLogin: nil
            }
        }

        /// Whether an agent approves it, or rejects it; `nil` for what is left to people.
        var isApproved: Bool? {
            switch self {
            case .login, .smallPayment: true
            case .quickLogin: false
            case .largePayment: nil
            }
        }
    }

    struct Entry: Codable {
        let milliseconds: Int
        let act: Act
    }

    /// How often things go wrong by themselves, each time that they could.
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
    var seconds = 240
    var chances = Chances()
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
        let count = 4 + draw.below(14)
        let isTroubled = (0..<13).map { _ in draw.happens(0.5) }
        for _ in 0..<count { self.add(.make(Kind.allCases[draw.below(4)], device: draw.below(self.devices)), &draw) }
        for _ in 0..<draw.below(24) {
            // Deaths and frosts most of all.
            let kind = draw.happens(0.25) ? draw.below(2) : draw.below(isTroubled.count)
            if isTroubled[kind] { self.add(self.trouble(kind, &draw), &draw) }
        }
        self.entries.sort { $0.milliseconds < $1.milliseconds }
    }

    private mutating func add(_ act: Act, _ draw: inout Draw) {
        self.entries.append(Entry(milliseconds: 1_000 + draw.below(self.seconds * 700), act: act))
    }

    private func trouble(_ kind: Int, _ draw: inout Draw) -> Act {
        let (node, device) = (draw.below(self.nodes), draw.below(self.devices))
        return switch kind {
        case 0: .kill(node: node, steps: draw.below(400), seconds: 1 + draw.below(20))
        case 1: .freeze(node: node, steps: draw.below(400), seconds: 1 + draw.below(30))
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
        case .kill(let node, let steps, let seconds): "node \(node) dies in \(steps) steps, for \(seconds) s"
        case .stop(let node, let seconds): "node \(node) is asked to end, for \(seconds) s"
        case .freeze(let node, let steps, let seconds): "node \(node) freezes in \(steps) steps, for \(seconds) s"
        case .starve(let node, let seconds): "node \(node) is starved for \(seconds) s"
        case .cut(let node, let seconds): "node \(node) reaches nobody for \(seconds) s"
        case .setClock(let node, let seconds): "the clock of node \(node) is set \(seconds) s ahead"
        case .stopDatabase(let seconds): "the database is away for \(seconds) s"
        case .fillDisk(let seconds): "the disk of the database is full for \(seconds) s"
        case .goBack(let seconds, let isPromotion):
            "the database goes back by \(seconds) s\(isPromotion ? ", a standby on another timeline" : ", a backup")"
        }
    }
}
