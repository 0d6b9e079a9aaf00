import Coordination
import EmulatorBackend
import EmulatorMessages

// What programs follow: they ask for what is new, and wait for it.

extension ControlAPI {
    /// Looks, and looks again whenever something of a kind has happened, until there is news or the request's `wait` is over.
    ///
    /// - Throws: When too many wait already.
    func waiting<Page: Sendable>(
        _ request: ReceivedRequest,
        for kind: Emulator.Event.Kind,
        _ look: @escaping @Sendable () async -> (page: Page, isNews: Bool)
    ) async throws -> Page {
        let seconds = try request.number("wait", in: 0...60) ?? 0
        guard seconds > 0 else { return await look().page }
        // Subscribed before looking, so that nothing happens in between.
        guard let events = self.core.events.subscribe(unlessThereAre: self.capacity.eventStreams) else {
            throw Refusal(503, "CAPACITY_EXCEEDED", "\(self.capacity.eventStreams) programs follow already")
        }
        let first = await look()
        if first.isNews { return first.page }
        let clock = self.core.clock
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while let event = await events.next() {
                    guard event.kind == kind || event.kind == .reset else { continue }
                    if await look().isNews || event.kind == .reset { return }
                }
            }
            group.addTask { try? await clock.sleep(for: .seconds(seconds)) }
            await group.next()
            group.cancelAll()
            return await look().page
        }
    }
}

extension ReceivedRequest {
    /// Returns what the one who asks has been told: the query's `since`, unless it is of another run of the server, whose
    /// numbers mean nothing here.
    func feedPosition(inRun run: String) throws(Refusal) -> FeedPosition {
        let since = try self.number("since", in: 0...Int.max) ?? 0
        let isOfThisRun = self.queryValue("run").map { $0 == run } ?? true
        return FeedPosition(number: isOfThisRun ? UInt64(since) : 0, isOfThisRun: isOfThisRun)
    }
}

/// A position in a feed that a program follows: how far it has been told.
struct FeedPosition {
    /// What is new comes after it.
    let number: UInt64
    let isOfThisRun: Bool

    /// Whether the program speaks of what this server has never told, which it learns at once: it may have arrangements of the
    /// lost run to make anew.
    func isUnknown(after last: UInt64) -> Bool { !self.isOfThisRun || last < self.number }
}
