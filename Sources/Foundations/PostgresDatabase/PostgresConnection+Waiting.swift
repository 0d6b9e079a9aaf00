import CPostgreSQL

// Waiting: for results, and for notifications, without ever blocking within libpq.
extension PostgresConnection {
    /// Reads all results of one command.
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

    /// Records the server's refusal. Nothing was done, unless the server says more later.
    private func note(_ result: OpaquePointer, _ exchange: inout Exchange) throws(PostgresError) {
        let sqlState = CPostgreSQL_sqlState(result).map { String(cString: $0) }
        // An error of libpq itself, or of a server that ends the connection, perhaps during a commit.
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
                // The end of the queue, after which libpq considers the connection idle.
                if PQisBusy(self.handle) == 0 { PQclear(PQgetResult(self.handle)) }
                return
            }
            // A commit fails after its statements' results.
            try self.note(result, &exchange)
        }
        throw self.lost(mayCommit: exchange.mayCommit)
    }

    /// The progress of a round trip.
    struct Exchange {
        var deadline: ContinuousClock.Instant
        let mayCommit: Bool
        var isCanceled = false
        var failure: PostgresError?

        /// A server ignores cancellations before the statement starts, so they are repeated.
        var nextStep: ContinuousClock.Instant {
            self.isCanceled ? min(self.deadline, .now + .milliseconds(100)) : self.deadline
        }
    }

    /// Waits for the next result without blocking in libpq; `nil` after a command's last one.
    private func nextResult(_ exchange: inout Exchange) throws(PostgresError) -> OpaquePointer? {
        while PQisBusy(self.handle) != 0 {
            let unsent = PQflush(self.handle)
            guard unsent >= 0 else { throw self.lost(mayCommit: exchange.mayCommit) }
            let socket = PQsocket(self.handle)
            // A raised interrupt would end every further wait at once.
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

    /// Listens to a channel for the connection's lifetime. Returns `false` if it did already.
    @discardableResult
    package func listen(to channel: String) throws(PostgresError) -> Bool {
        guard !self.channels.contains(channel) else { return false }
        try self.run("LISTEN \(Self.quotedName(channel))")
        self.channels.insert(channel)
        return true
    }

    /// Waits for a notification on the channels.
    ///
    /// - Returns: `true` if there was one; all notifications so far are consumed.
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
