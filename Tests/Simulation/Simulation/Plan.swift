import EmulatorBackend

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
        /// The bank changes the amount of a payment as its next decision leaves; the policy says the same of it.
        case amend
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
        /// The requester does not reach the bank for some seconds.
        case cutAsker(at: AskerMoment, seconds: Int)
        /// The requester is suspended for some seconds.
        case freezeAsker(at: AskerMoment, seconds: Int)
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
        /// The database refuses outcomes for some seconds, for lack of a permission.
        case refuseOutcomes(seconds: Int)
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
        case login, quickLogin, smallPayment, smallerPayment, largePayment
        /// A payment of two signed amounts. A policy that is asked about incomplete operations approves it.
        case pair
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
            case .smallPayment, .smallerPayment, .largePayment: "payment"
            case .pair: "pair"
            case .trap: "strange"
            case .brief: "brief"
            case .question, .refusedQuestion: "deploy"
            }
        }

        var amount: String? {
            switch self {
            case .smallPayment: "49.90"
            case .smallerPayment: "29.90"
            case .largePayment: "50.01"
            case .login, .quickLogin, .pair, .trap, .brief, .question, .refusedQuestion: nil
            }
        }

        /// The payment that a payment becomes when its amount changes, and the policy's verdict with it.
        var other: Self { self == .largePayment ? .smallPayment : .largePayment }
        /// The payment that a payment becomes when its amount changes, and the policy says the same of it.
        var similar: Self { self == .smallPayment ? .smallerPayment : .smallPayment }

        /// `true` if an agent approves it, `false` if it rejects it, `nil` if it leaves it to people.
        var isApproved: Bool? {
            switch self {
            case .login, .smallPayment, .smallerPayment, .pair, .question: true
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
        /// When its next operation is sent to the bank.
        case creation
        /// When it hears of the next approval.
        case approval
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
    /// The sum in CZK that agents may approve of an activation in a minute; `nil` for any. They then review incomplete operations.
    var sumAllowed: Int?
    /// The time that a policy takes at most; `nil` for none.
    var policySeconds: Int?
    /// The device whose password agents have wrong; `nil` for none.
    var wrongFactor: Int?
    /// The device whose person rejects all questions, and whether that ends them; `nil` for none, and in plans that were kept earlier.
    var objector: Int?
    var endsOnRejection: Bool?
    var chances = Chances()
    var entries: [Entry] = []

    /// Returns a plan without trouble, in which agents decide operations, five each second.
    static func quiet(decisions: Int) -> Self {
        let entries = (0..<max(0, decisions)).map { index in
            Entry(
                milliseconds: 1_000 + 200 * index,
                act: .make(index % 2 == 0 ? .smallPayment : .login, device: index % 4)
            )
        }
        return Self(seed: 1, devices: 4, seconds: 40 + entries.count / 5, entries: entries)
    }

    /// Indicates whether any content of the database goes back.
    var restores: Bool {
        self.entries.contains { entry in
            switch entry.act {
            case .goBack, .promote, .promoteAtLease, .replaceServer, .replaceServerAt, .putBackRow: true
            default: false
            }
        }
    }
}
