import EmulatorBackend
import HTTPClientTransport
import MobileToken

extension Judge {
    /// The requests as they leave, and what their senders were told before: when, how many, and of what.
    struct Trace {
        /// The kind of an app: it is told what expires and polls now and then, or it has two screens that poll.
        enum Looking { case watching(device: Int), polling }

        /// An operation as a process was shown it.
        private struct Content {
            var data: String
            /// When a list with it was answered.
            var listed: Int64
        }

        /// The time in which begun work ends after an answer.
        private static let grace: Int64 = 5_000_000_000
        /// The time in which all of a process has heard of an answer.
        private static let hearing: Int64 = 1_000_000_000
        private static let sharesUnderWay = 6
        /// The time in which processes learn of others that come or go.
        private static let sharing: Int64 = 15_000_000_000
        /// The shortest time of three polls of an app, which begin five seconds apart.
        private static let threePolls: Int64 = 5_300_000_000
        /// The time for which an answer about a status may have been under way as a row went back.
        private static let statusUnderWay: Int64 = 10_000_000_000

        /// The decisions that were given to the network.
        private(set) var called: Set<Case> = []
        private var times: [Int: ArraySlice<Int64>] = [:]
        private var allTimes: ArraySlice<Int64> = []
        /// When a process last came or went, and those that are there.
        private var joined: Int64 = 0
        private var members: Set<Int64> = []
        /// The ends of the waits that a process was asked for, by the time of the answer: for polls, and for its decisions.
        private var waits: [Int: (told: Int64, until: Int64)] = [:]
        private var decisionWaits: [Case: Int64] = [:]
        /// The last polls of a process that were answered with a list, by activation.
        private(set) var polls: [String: Int64] = [:]
        /// When polls began that have not ended, as their process says, by process and activation: a token, its key, and a turn to sign
        /// for it may come first. And these two of the polls that the bank has got.
        private var begun: [String: Int64] = [:]
        private var arrivals: [Int: String] = [:]
        /// The polls that left before the end of a wait.
        private var early: [Int: (told: Int64, until: Int64)] = [:]
        /// The last requests of a process other than polls, one right after the other, and whether the last one is for a key or a
        /// status, as before a signature.
        private var preparations: [Int: (called: Int64, ended: Int64, isOfSignature: Bool)] = [:]
        /// The changed data of operations.
        private var changes: [String: (data: String, time: Int64)] = [:]
        private var contents: [Case: Content] = [:]
        private(set) var retries: [Case: Int64] = [:]
        /// The polls of a process after trouble at the bank, until it answers.
        private var troubled: [Int: [Flight]] = [:]
        /// The decisions of agents without an answer, by request, and those that an agent has called unanswered, with the activation.
        private var underWay: [Int: Flight] = [:]
        private var unanswered: [Case: (activationID: String, since: Int64)] = [:]
        /// The accepted signatures whose answers a process has heard, if it lives.
        var heardAccepted: [Signature: Int] = [:]
        /// The latest answers about an activation's status.
        var statuses: [String: Int64] = [:]
        private var returns: [String: Int64] = [:]
        /// The processes of apps, and when they polled.
        var looking: [Int: Looking] = [:]
        private(set) var appPolls: [Int: [Int64]] = [:]
        /// When operations of each device expired, and until when the creation of a question's operation has to wait.
        var expiries: [Int: [Int64]] = [:]
        private var questionWaits: [String: (process: Int, until: Int64)] = [:]
        /// The operations that requesters have looked at or canceled, and when a program's ledger failed or it died.
        private(set) var followed: Set<String> = []
        private var disturbances: [Int: [Int64]] = [:]
        /// When a process last had a slow answer of the database, so that a poll left late.
        var slowed: [Int: Int64] = [:]
        /// The apps in which a person decides, and their requests for it.
        var deciding: Set<Int> = []
        private var byHand: Set<Int> = []

        // MARK: Pace

        /// Counts a request within its second.
        private mutating func count(_ flight: Flight, limit: Int) -> String? {
            let now = flight.called
            func recent(_ times: ArraySlice<Int64>) -> ArraySlice<Int64> {
                (times + [now]).drop { now - $0 >= 1_000_000_000 }
            }
            let own = recent(self.times[flight.process] ?? [])
            self.times[flight.process] = own
            self.allTimes = recent(self.allTimes)
            if own.count > limit { return "a process sent \(own.count) requests within a second" }
            // A share is another's for a moment when a process comes or goes.
            let isMoving = now - self.joined < Self.sharing
            let isTooMany = self.allTimes.count > limit + (isMoving ? Self.sharesUnderWay : 0)
            return isTooMany ? "the processes sent \(self.allTimes.count) requests within a second" : nil
        }

        /// Notes the leases that there are.
        mutating func noteMembers(_ members: Set<Int64>, at now: Int64) {
            if members != self.members { (self.members, self.joined) = (members, now) }
        }

        /// Notes that a process has been answered.
        mutating func told(_ flight: Flight, _ response: HTTPResponse, at now: Int64) {
            guard !self.byHand.contains(flight.id) else { return }
            guard flight.isAutomatic || self.looking[flight.process] != nil || flight.question != nil else { return }
            if response.status < 500 { self.troubled[flight.process] = nil }
            // A poll whose token was refused is sent again.
            if response.status == 401, flight.isPoll { _ = self.appPolls[flight.process]?.popLast() }
            // An app heeds the latest answer.
            if !flight.isAutomatic, flight.isPoll || flight.isStatus { self.waits[flight.process] = nil }
            guard flight.isAutomatic || flight.isPoll || flight.isStatus || flight.question != nil else { return }
            guard response.status == 503,
                let seconds = response.headers["Retry-After"].flatMap({ Int64($0) })
            else { return }
            let until = now + seconds * 1_000_000_000
            if until > self.waits[flight.process]?.until ?? 0 { self.waits[flight.process] = (now, until) }
            if flight.isAutomatic, flight.isPoll { self.troubled[flight.process] = [] }
            if let question = flight.question { self.questionWaits[question] = (flight.process, until) }
            guard let decision = flight.decision else { return }
            self.decisionWaits[Case(process: flight.process, operationID: decision.operationID)] = until
        }

        /// A process is about to send a request.
        ///
        /// - Returns: The violation, if it is one.
        mutating func called(_ flight: Flight, limit: Int) -> String? {
            if let id = flight.ends ?? flight.looksAt { self.followed.insert(id) }
            guard flight.isAutomatic else { return self.looked(flight) }
            let now = flight.called
            if let fault = self.count(flight, limit: limit) ?? self.probed(flight) { return fault }
            if flight.isPoll, let wait = self.waits[flight.process], now > wait.told + Self.hearing, now < wait.until {
                self.early[flight.id] = wait
            }
            guard let decision = flight.decision else { return nil }
            let own = Case(process: flight.process, operationID: decision.operationID)
            self.called.insert(own)
            self.underWay[flight.id] = flight
            let isBeside = self.unanswered.contains {
                $0.key.process == own.process && $0.key != own && $0.value.activationID == flight.activationID
            }
            if isBeside { return "an operation is decided before it is known what became of another" }
            if let until = self.decisionWaits[own], now < until {
                let rest = (until - now) / 1_000_000
                return "an operation is decided again \(rest) ms before the bank's Retry-After is over"
            }
            return self.isOutdated(flight, own) ? "an operation is decided again as it was before it changed" : nil
        }

        /// A poll begins, says its process.
        mutating func began(_ process: Int, _ activationID: String, at now: Int64) {
            self.begun["\(process) \(activationID)"] = now
        }

        /// The bank gets a poll, and knows the activation.
        ///
        /// - Returns: The violation, if it is one: it came before the end of a wait, and had not begun before that.
        mutating func arrived(_ flight: Flight, of activationID: String?) -> String? {
            guard flight.isAutomatic, let activationID else { return nil }
            let key = "\(flight.process) \(activationID)"
            self.arrivals[flight.id] = key
            guard let (told, until) = self.early.removeValue(forKey: flight.id),
                self.begun[key].map({ $0 > told + Self.hearing }) ?? (flight.called > told + Self.grace)
            else { return nil }
            return "a process polls \((until - flight.called) / 1_000_000) ms before the bank's Retry-After is over"
        }

        /// The bank answers a poll.
        ///
        /// - Returns: `true` if it comes soon after the last one, as when an activation comes back to a process.
        mutating func polled(_ flight: Flight, _ reply: Reply) -> Bool {
            guard flight.isAutomatic, let id = reply.activationID, reply.status == 200 else { return false }
            let key = "\(flight.process) \(id)"
            guard let last = self.polls[key] else {
                self.polls[key] = flight.called
                return false
            }
            // One that was held back arrives after a later one.
            self.polls[key] = max(last, flight.called)
            return abs(flight.called - last) < 4_500_000_000
        }

        /// Notes that the sender of a request hears no more of it.
        ///
        /// - Parameter status: The status of the answer; `nil` without one.
        mutating func ended(_ flight: Flight, _ status: Int?, at now: Int64) {
            self.early[flight.id] = nil
            // With another token, the same poll asks again.
            if let key = self.arrivals.removeValue(forKey: flight.id), status != 401 { self.begun[key] = nil }
            if !flight.isPoll {
                let isOfSignature = flight.path.hasSuffix("/keystore/create") || flight.isStatus
                self.preparations[flight.process] = (self.begin(of: flight), now, isOfSignature)
            }
            self.underWay[flight.id] = nil
            self.troubled[flight.process]?.removeAll { $0.id == flight.id }
        }

        /// Returns when a poll began, which may have made a token or asked for the time first.
        private func begin(of flight: Flight) -> Int64 {
            self.preparations[flight.process].flatMap {
                flight.called < $0.ended + 50_000_000 ? $0.called : nil
            } ?? flight.called
        }

        // MARK: Content

        mutating func changed(_ id: String, to data: String, at now: Int64) { self.changes[id] = (data, now) }

        /// Returns whether an operation has changed since a time, and no process was shown it as it is now.
        func hasChangedUnseen(_ id: String, since time: Int64) -> Bool {
            guard let (data, changed) = self.changes[id], changed >= time else { return false }
            return !self.contents.contains { $0.key.operationID == id && $0.value.data == data }
        }

        /// Notes that a process was shown an operation.
        mutating func listed(_ data: String, _ own: Case, at now: Int64) {
            guard self.changes[own.operationID] != nil, self.contents[own]?.data != data else { return }
            self.contents[own] = Content(data: data, listed: now)
        }

        mutating func retried(_ own: Case, at now: Int64) { self.retries[own] = now }

        /// Returns whether an agent has had trouble with one of these operations since a time.
        func hasRetried(since time: Int64, _ isOne: (String) -> Bool) -> Bool {
            self.retries.contains { $0.value >= time && isOne($0.key.operationID) }
        }

        /// Returns whether a decision is repeated that its process knew to be about something else when it put it off.
        private func isOutdated(_ flight: Flight, _ own: Case) -> Bool {
            guard let content = self.contents[own], let data = flight.data, data != content.data,
                let retry = self.retries[own]
            else { return false }
            return content.listed < retry
        }

        /// - Returns: The violation, if it is one.
        mutating func reviewed(_ operation: UserOperation, by process: Int, at now: Int64) -> String? {
            guard let content = self.contents[Case(process: process, operationID: operation.id)],
                content.data != operation.data, content.listed + Self.grace < now
            else { return nil }
            return "a policy is asked about an operation as it was before it changed"
        }

        // MARK: Probes

        /// A process polls: after a wait that the bank asked for, one poll at a time, until the bank answers.
        private mutating func probed(_ flight: Flight) -> String? {
            let now = flight.called
            guard flight.isPoll, let polls = self.troubled[flight.process], let (_, until) = self.waits[flight.process],
                now >= until
            else { return nil }
            self.troubled[flight.process] = polls + [flight]
            let isSecond = polls.contains {
                $0.called > until && now - $0.called < 30_000_000_000
            }
            return isSecond ? "a process polls before the bank has answered its probe" : nil
        }

        /// Notes that an application asks all its questions anew.
        mutating func asksAnew() { self.questionWaits = [:] }

        /// Notes that a process was suspended: what it had begun before an answer goes on when it is thawed.
        mutating func slept(_ process: Int, _ seconds: Int) {
            self.waits[process]?.told += Int64(seconds) * 1_000_000_000
        }

        // MARK: Questions

        mutating func disturbed(_ process: Int, at now: Int64) { self.disturbances[process, default: []].append(now) }

        func isDisturbed(_ process: Int, in time: ClosedRange<Int64>) -> Bool {
            self.disturbances[process]?.contains { time.contains($0) } ?? false
        }

        // MARK: Decisions

        /// Notes that an activation's row went back.
        mutating func wentBack(_ activationID: String, at now: Int64) { self.returns[activationID] = now }

        /// Returns whether nobody has asked for an activation's status since its row went back.
        func isUncompared(_ activationID: String) -> Bool {
            self.returns[activationID].map { self.statuses[activationID] ?? .min / 2 < $0 - Self.statusUnderWay }
                ?? false
        }

        /// Notes that an agent has said something of an operation.
        mutating func said(_ kind: ApprovalAgent.Event.Kind, _ own: Case, of activationID: String, at now: Int64) {
            switch kind {
            case .unanswered: self.unanswered[own] = (activationID, now)
            // Once the bank has told its counter, the activation goes on.
            case .retrying where self.unanswered[own].map { self.statuses[activationID] ?? -1 < $0.since } ?? false:
                break
            default: self.unanswered[own] = nil
            }
        }

        /// Returns whether a process waits for the answer to a decision on one of these activations.
        func isDeciding(_ process: Int, _ isOne: (String) -> Bool) -> Bool {
            self.underWay.values.contains { $0.process == process && ($0.activationID.map(isOne) ?? false) }
        }

        /// Notes that a process has died, or ended in trouble: what it knew is lost.
        mutating func died(_ process: Int) {
            self.heardAccepted = self.heardAccepted.filter { $0.value != process }
            self.underWay = self.underWay.filter { $0.value.process != process }
        }

        // MARK: Apps

        /// An app is about to send a request.
        private mutating func looked(_ flight: Flight) -> String? {
            let now = flight.called
            if let question = flight.question, let (process, until) = self.questionWaits[question],
                process == flight.process, now < until
            {
                return "a question is asked again \((until - now) / 1_000_000) ms before the bank's Retry-After is over"
            }
            guard let looking = self.looking[flight.process], flight.isPoll || flight.isStatus else { return nil }
            // A person's decision waits for nothing, and neither does what it asks. What a signature asks is not the app's question.
            let isOfSignature =
                self.begin(of: flight) < flight.called && self.preparations[flight.process]?.isOfSignature == true
            guard !flight.isStatus || !self.deciding.contains(flight.process) && !isOfSignature else {
                self.byHand.insert(flight.id)
                return nil
            }
            if let (told, until) = self.waits[flight.process], now < until, now > told {
                return "an app asks \((until - now) / 1_000_000) ms before the bank's Retry-After is over"
            }
            guard flight.isPoll else { return nil }
            let polls = self.appPolls[flight.process, default: []]
            self.appPolls[flight.process] = polls + [self.begin(of: flight)]
            switch looking {
            case .polling:
                guard let first = polls.suffix(2).first, polls.count > 1, now - first < Self.threePolls,
                    self.slowed[flight.process] ?? .min / 2 < first - Self.threePolls
                else {
                    return nil
                }
                return "an app polls three times within \((now - first) / 1_000_000) ms"
            case .watching(let device):
                // Of each operation that has expired, it is reminded after 5 s, 10 s, 20 s, and then every 30 s.
                let expiries = self.expiries[device, default: []]
                guard !expiries.isEmpty, expiries.allSatisfy({ now - $0 > 45_000_000_000 }) else { return nil }
                let recent = polls.count { now - $0 < 30_000_000_000 } + 1
                return recent > 2 * expiries.count + 1 ? "an app asks for a list \(recent) times in half a minute" : nil
            }
        }
    }
}
