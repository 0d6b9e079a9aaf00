/// Combines an actor's concurrent writes into one durable commit, which takes about as long as a single write. Used in an actor
/// on a ``QueueExecutor``: its queue reveals the next calls.
public final class GroupCommit<Write, Answer> {
    @usableFromInline final class Pending {
        @usableFromInline let write: Write
        /// Set once the write is durable, or has failed.
        @usableFromInline var answer: Result<Answer, any Error>?

        @inlinable init(_ write: Write) { self.write = write }
    }

    @usableFromInline var pending: [Pending] = []

    /// Creates it without writes.
    @inlinable public init() {}

    /// Commits a write together with all queued ones.
    ///
    /// - Parameter commit: Writes all or nothing, and returns a result for each. If several fail together, each is retried alone,
    ///   because one of them may be the cause.
    /// - Throws: The error of `commit`.
    @inlinable public func commit(
        _ write: Write,
        on executor: QueueExecutor,
        isolation: isolated (any Actor)? = #isolation,
        by commit: ([Write]) throws -> [Answer]
    ) async throws -> Answer {
        let pending = Pending(write)
        self.pending.append(pending)
        if executor.waitingJobCount > 0 { await executor.waitForQueuedJobs() }
        // Another call may have committed it meanwhile.
        if pending.answer == nil { self.commitAll(by: commit) }
        guard let answer = pending.answer else { throw Unanswered() }
        return try answer.get()
    }

    /// Commits what waits.
    @inlinable public func commitAll(by commit: ([Write]) throws -> [Answer]) {
        let group = self.pending
        self.pending = []
        guard !group.isEmpty else { return }
        do {
            try Self.commit(group, by: commit)
        } catch  where group.count > 1 {
            for one in group { do { try Self.commit([one], by: commit) } catch { one.answer = .failure(error) } }
        } catch {
            for one in group { one.answer = .failure(error) }
        }
    }

    @inlinable static func commit(_ group: [Pending], by commit: ([Write]) throws -> [Answer]) throws {
        let answers = try commit(group.map(\.write))
        guard answers.count == group.count else { throw Unanswered() }
        for (one, answer) in zip(group, answers) { one.answer = .success(answer) }
    }

    /// A commit gave too few answers.
    @usableFromInline struct Unanswered: Error {
        @inlinable init() {}
    }
}
