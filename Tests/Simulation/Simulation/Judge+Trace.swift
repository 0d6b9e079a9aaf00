import EmulatorBackend
import HTTPClientTransport
import MobileToken

extension Judge {
    /// The requests as they leave, and what their senders were told before: when, how many, and of what.
    struct Trace {
        /// An operation as a process was shown it.
        private struct Content {
            var data: String
            /// When a list with it was answered.
            var listed: Int64
        }

        /// The time in which begun work ends after an answer.
        private static let grace: Int64 = 5_000_000_000
        private static let sharesUnderWay = 4

        /// The decisions that were given to the network.
        private(set) var called: Set<Case> = []
        private var times: [Int: ArraySlice<Int64>] = [:]
        private var allTimes: ArraySlice<Int64> = []
        /// The ends of the waits that a process was asked for, by the time of the answer: for polls, and for its decisions.
        private var waits: [Int: (told: Int64, until: Int64)] = [:]
        private var decisionWaits: [Case: Int64] = [:]
        /// The last polls of a process that were answered with a list, by activation.
        private var polls: [String: Int64] = [:]
        /// The last poll of a process that ended.
        private var pollEnds: [Int: (called: Int64, ended: Int64)] = [:]
        /// The changed data of operations.
        private var changes: [String: String] = [:]
        private var contents: [Case: Content] = [:]
        private var retries: [Case: Int64] = [:]

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
            let isTooMany = self.allTimes.count > limit + Self.sharesUnderWay
            return isTooMany ? "the processes sent \(self.allTimes.count) requests within a second" : nil
        }

        /// Notes that a process has been answered.
        mutating func told(_ flight: Flight, _ response: HTTPResponse, at now: Int64) {
            guard flight.isAutomatic, response.status == 503,
                let seconds = response.headers["Retry-After"].flatMap({ Int64($0) })
            else { return }
            let until = now + seconds * 1_000_000_000
            if until > self.waits[flight.process]?.until ?? 0 { self.waits[flight.process] = (now, until) }
            guard let decision = flight.decision else { return }
            self.decisionWaits[Case(process: flight.process, operationID: decision.operationID)] = until
        }

        /// A process is about to send a request.
        ///
        /// - Returns: The violation, if it is one.
        mutating func called(_ flight: Flight, limit: Int) -> String? {
            guard flight.isAutomatic else { return nil }
            let now = flight.called
            if let fault = self.count(flight, limit: limit) { return fault }
            if flight.isPoll, let (told, until) = self.waits[flight.process], now > told + Self.grace, now < until,
                !self.goesOn(flight, since: told)
            {
                return "a process polls \((until - now) / 1_000_000) ms before the bank's Retry-After is over"
            }
            guard let decision = flight.decision else { return nil }
            let own = Case(process: flight.process, operationID: decision.operationID)
            self.called.insert(own)
            if let until = self.decisionWaits[own], now < until {
                let rest = (until - now) / 1_000_000
                return "an operation is decided again \(rest) ms before the bank's Retry-After is over"
            }
            return self.isOutdated(flight, own) ? "an operation is decided again as it was before it changed" : nil
        }

        /// The bank gets a poll.
        ///
        /// - Returns: `true` if it comes soon after the last one, as when an activation comes back to a process.
        mutating func polled(_ flight: Flight, _ reply: Reply) -> Bool {
            guard flight.isAutomatic, let id = reply.activationID, reply.status == 200 else { return false }
            let last = self.polls.updateValue(flight.called, forKey: "\(flight.process) \(id)")
            return last.map { flight.called - $0 < 4_500_000_000 } ?? false
        }

        /// Notes that the sender of a request hears no more of it.
        mutating func ended(_ flight: Flight, at now: Int64) {
            if flight.isPoll { self.pollEnds[flight.process] = (flight.called, now) }
        }

        /// Returns whether a poll is the rest of one that had begun before, as when its token was refused.
        private func goesOn(_ flight: Flight, since told: Int64) -> Bool {
            self.pollEnds[flight.process].map { $0.called <= told && flight.called < $0.ended + 3 * Self.grace }
                ?? false
        }

        // MARK: Content

        mutating func changed(_ id: String, to data: String, at now: Int64) { self.changes[id] = data }

        /// Notes that a process was shown an operation.
        mutating func listed(_ data: String, _ own: Case, at now: Int64) {
            guard self.changes[own.operationID] != nil, self.contents[own]?.data != data else { return }
            self.contents[own] = Content(data: data, listed: now)
        }

        mutating func retried(_ own: Case, at now: Int64) { self.retries[own] = now }

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
    }
}
