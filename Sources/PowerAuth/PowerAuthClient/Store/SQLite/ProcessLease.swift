import Coordination

/// The right to sign with one activation, among tasks and processes. Must be released exactly once.
struct ProcessLease: Sendable {
    private let activationID: String
    private let slot: Int64
    private let gate: KeyedSemaphore
    private let file: LeaseFile

    /// Waits for the right: first at this process's gate, so that only one of its tasks competes with other processes, then in
    /// the order of processes. Between processes it polls, every 0.2 ms at first and every 5 ms at most. A blocking lock would
    /// occupy a thread per waiting activation, and cancellation could not free it.
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

    /// Passes the right to the next waiter.
    func release() {
        self.file.unlock(.holder, of: self.slot)
        self.gate.leave(self.activationID)
    }
}
