import CPostgreSQL

// Waiting: for results, and for notifications, without ever blocking within libpq.
extension PostgresConnection {
    /// Reads the results of one command up to their end.
    func results(_ exchange: inout Exchange) throws(PostgresError) -> [PostgresRows] {
        var results: [PostgresRows] = []
        while let result = try self.nextResult(&exchange) {
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK: results.append(PostgresRows(result))
            case PGRES_PIPELINE_ABORTED: PQclear(result)
            default:
                defer { PQclear(result) }
                try self.note(result, &exchange)
            }
        }
        return results
    }

    /// Notes why the server refuses. Unless it says more later, nothing was done.
    private func note(_ result: OpaquePointer, _ exchange: inout Exchange) throws(PostgresError) {
        let sqlState = CPostgreSQL_sqlState(result).map { String(cString: $0) }
        // Made by libpq itself, or the last word of a server that ends the connection: perhaps in the middle of a commit.
        guard let sqlState, PQstatus(self.handle) == CONNECTION_OK, !Self.endsConnection(sqlState) else {
            throw self.lost(mayCommit: exchange.mayCommit, sqlState: sqlState)
        }
        let isAnswerToCancel = exchange.isCanceled && sqlState == "57014"
        exchange.failure =
            exchange.failure ?? PostgresError(isAnswerToCancel ? .canceled : .refused, sqlState: sqlState)
    }

    private static func endsConnection(_ sqlState: String) -> Bool {
        ["25P03", "57P01", "57P02", "57P03", "57P04", "57P05"].contains(sqlState)
    }

    func readEnd(_ exchange: inout Exchange) throws(PostgresError) {
        while let result = try self.nextResult(&exchange) {
            defer { PQclear(result) }
            if PQresultStatus(result) == PGRES_PIPELINE_SYNC {
                // The end of the queue, at which libpq counts the connection as idle.
                if PQisBusy(self.handle) == 0 { PQclear(PQgetResult(self.handle)) }
                return
            }
            // A commit fails behind the results of its statements.
            try self.note(result, &exchange)
        }
        throw self.lost(mayCommit: exchange.mayCommit)
    }

    /// The progress of a round trip on its way.
    struct Exchange {
        var deadline: ContinuousClock.Instant
        let mayCommit: Bool
        var isCanceled = false
        var failure: PostgresError?

        /// A server ignores what comes before the statement that is meant, so canceling is repeated.
        var nextStep: ContinuousClock.Instant {
            self.isCanceled ? min(self.deadline, .now + .milliseconds(100)) : self.deadline
        }
    }

    /// Waits for the next result, without ever blocking within libpq; `nil` ends those of one command.
    private func nextResult(_ exchange: inout Exchange) throws(PostgresError) -> OpaquePointer? {
        while PQisBusy(self.handle) != 0 {
            let unsent = PQflush(self.handle)
            guard unsent >= 0 else { throw self.lost(mayCommit: exchange.mayCommit) }
            let socket = PQsocket(self.handle)
            // Raised once, an interrupt would end every further wait at once.
            let interrupt = exchange.isCanceled ? nil : self.interrupt
            switch SocketWait.wait(for: socket, writing: unsent == 1, or: interrupt, until: exchange.nextStep) {
            case .ready: break
            case .late where exchange.deadline > .now: StatementCancellation(of: self.handle)?.send()
            case .late: throw self.lost(mayCommit: exchange.mayCommit)
            case .interrupted:
                exchange.isCanceled = true
                exchange.deadline = min(exchange.deadline, .now + self.options.grace)
                StatementCancellation(of: self.handle)?.send()
            }
            guard PQconsumeInput(self.handle) == 1 else { throw self.lost(mayCommit: exchange.mayCommit) }
        }
        return PQgetResult(self.handle)
    }

    // MARK: Notifications

    /// Listens to a channel from now on, for as long as the connection lives.
    ///
    /// - Returns: `false` when it did so before.
    @discardableResult
    package func listen(to channel: String) throws(PostgresError) -> Bool {
        guard !self.channels.contains(channel) else { return false }
        try self.run("LISTEN \(Self.quotedName(channel))")
        self.channels.insert(channel)
        return true
    }

    /// Waits for a notification on a channel that is listened to.
    ///
    /// - Returns: `true` when there was any; all that have come so far are taken.
    /// - Throws: ``PostgresError/Kind/connectionLost`` or ``PostgresError/Kind/canceled``.
    package func waitForNotification(until deadline: ContinuousClock.Instant) throws(PostgresError) -> Bool {
        while true {
            guard PQconsumeInput(self.handle) == 1 else { throw self.lost(mayCommit: false) }
            if self.takeNotifications() { return true }
            let socket = PQsocket(self.handle)
            switch SocketWait.wait(for: socket, writing: false, or: self.interrupt, until: deadline) {
            case .ready: break
            case .interrupted: throw PostgresError(.canceled)
            case .late: return false
            }
        }
    }

    private func takeNotifications() -> Bool {
        var hasTaken = false
        while let notification = PQnotifies(self.handle) {
            PQfreemem(notification)
            hasTaken = true
        }
        return hasTaken
    }
}
