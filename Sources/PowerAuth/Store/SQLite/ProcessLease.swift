import Coordination

/// The right to sign with one activation, against other tasks of this process and against other processes.
///
/// Must be released exactly once.
struct ProcessLease: Sendable {
    private let activationID: String
    private let slot: Int64
    private let gate: KeyedSemaphore
    private let file: LeaseFile

    /// Waits for the right: at this process's gate first, so that one of its tasks at most competes with others, and then in
    /// the order in which processes came.
    ///
    /// Between processes the wait is a series of attempts, 0.2 ms apart at first and 5 ms at most. A blocking lock would
    /// wake up sooner, but take a thread for every activation that waits, which cancellation could not get back.
    static func acquire(
        activationID: String,
        slot: Int64,
        gate: KeyedSemaphore,
        file: LeaseFile
    ) async throws -> ProcessLease {
        try await gate.enter(activationID)
        do {
            let ticket = try await self.retrying { try file.tryTakeTicket(of: slot) }
            defer { file.returnTicket(ticket, of: slot) }
            try await self.retrying { try file.isTicketOut(before: ticket, of: slot) ? nil : () }
            try await self.retrying { try file.tryLock(.holder, of: slot) ? () : nil }
        } catch {
            gate.leave(activationID)
            throw error
        }
        return ProcessLease(activationID: activationID, slot: slot, gate: gate, file: file)
    }

    private static func retrying<Result>(_ attempt: () throws -> Result?) async throws -> Result {
        var delay = Duration.microseconds(200)
        while true {
            if let result = try attempt() { return result }
            try await Task.sleep(for: delay)
            delay = min(delay * 2, .milliseconds(5))
        }
    }

    /// Gives the right to the next waiter.
    func release() {
        self.file.unlock(.holder, of: self.slot)
        self.gate.leave(self.activationID)
    }
}
