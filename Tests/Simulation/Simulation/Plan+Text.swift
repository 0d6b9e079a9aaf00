// The story's words for what happens.
extension Plan.Act: CustomStringConvertible {
    var description: String {
        switch self {
        case .make(let kind, let device): "the bank makes a \(kind.rawValue) for device \(device)"
        case .cancel: "the bank cancels an operation"
        case .change: "the bank changes a payment"
        case .amend: "the bank changes a payment a little as its next decision leaves"
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
            "who asks dies \(moment), for \(seconds) s"
        case .cutAsker(let moment, let seconds): "who asks reaches no bank \(moment), for \(seconds) s"
        case .freezeAsker(let moment, let seconds): "who asks freezes \(moment), for \(seconds) s"
        case .starve(let node, let seconds): "node \(node) is starved for \(seconds) s"
        case .cut(let node, let seconds): "node \(node) reaches nobody for \(seconds) s"
        case .setClock(let node, let seconds): "the clock of node \(node) is set \(seconds) s ahead"
        case .stopDatabase(let seconds): "the database is away for \(seconds) s"
        case .fillDisk(let seconds): "the disk of the database is full for \(seconds) s"
        case .refuseOutcomes(let seconds): "the database refuses outcomes for \(seconds) s"
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

extension Plan.AskerMoment: CustomStringConvertible {
    var description: String {
        switch self {
        case .steps(let count): "in \(count) steps"
        case .action: "in its next action"
        case .creation: "as its next operation leaves"
        case .approval: "as it hears of an approval"
        }
    }
}
