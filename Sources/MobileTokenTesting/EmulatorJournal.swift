public import MobileTokenEmulator

extension Emulator {
    /// The requests to a path, oldest first.
    ///
    /// - Parameters:
    ///   - path: Bare of `/enrollment-server`; `*` stands for anything but a slash, `**` for anything.
    ///   - id: Only those after this journal entry.
    public func requests(to path: String, since id: UInt64 = 0) async -> [JournalEntry] {
        let pattern = PathPattern(path)
        return await self.journal(since: id).filter { pattern.matches($0.path) }
    }

    /// Why requests to a path were refused, oldest first; empty when none was.
    ///
    /// ```swift
    /// #expect(await emulator.refusals(of: "/api/**") == [])
    /// ```
    public func refusals(of path: String = "/**") async -> [String] {
        await self.requests(to: path).compactMap(\.refusal)
    }

    /// The first request to a path that is answered after a journal entry; waits for it.
    ///
    /// - Returns: `nil` when the server stops, or the task is cancelled, before there is one.
    public func nextRequest(to path: String, since id: UInt64 = 0) async -> JournalEntry? {
        let events = self.events()  // before looking, so that none is missed in between
        if let entry = await self.requests(to: path, since: id).first { return entry }
        for await event in events where event.kind == .request {
            if let entry = await self.requests(to: path, since: id).first { return entry }
        }
        return nil
    }
}
