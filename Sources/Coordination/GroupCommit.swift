/// Writes of one actor that are asked for at the same time, and share one durable commit.
///
/// A commit waits for the disk, and takes about as long with a hundred writes as with one. Part of an actor that runs on a
/// ``QueueExecutor``, whose queue tells which calls come next.
public final class GroupCommit<Write, Answer> {
    private final class Pending {
        let write: Write
        /// Set once the write is durable, or has failed.
        var answer: Result<Answer, any Error>?

        init(_ write: Write) { self.write = write }
    }

    private var pending: [Pending] = []

    /// Creates it without writes.
    public init() {}

    /// Commits a write, with those of all calls that are queued behind this one.
    ///
    /// - Parameter commit: Writes all or nothing, and returns an answer for each. Of several that failed together, each is tried alone:
    ///   one of them may be what cannot be written.
    /// - Throws: The error of `commit`.
    public func commit(
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
    public func commitAll(by commit: ([Write]) throws -> [Answer]) {
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

    private static func commit(_ group: [Pending], by commit: ([Write]) throws -> [Answer]) throws {
        let answers = try commit(group.map(\.write))
        guard answers.count == group.count else { throw Unanswered() }
        for (one, answer) in zip(group, answers) { one.answer = .success(answer) }
    }

    /// A commit gave too few answers.
    private struct Unanswered: Error {}
}
