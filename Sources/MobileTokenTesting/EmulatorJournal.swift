public import MobileToken
public import MobileTokenEmulator

extension Emulator {
    /// Returns the requests to a path, oldest first.
    ///
    /// - Parameters:
    ///   - path: Without `/enrollment-server`; `*` stands for anything but a slash, `**` for anything.
    ///   - id: The journal entry after which the requests begin.
    public func requests(to path: String, since id: UInt64 = 0) async -> [JournalEntry] {
        let pattern = PathPattern(path)
        return await self.journal(since: id).filter { pattern.matches($0.path) }
    }

    /// Returns the reasons why requests to a path were refused, oldest first.
    ///
    /// ```swift
    /// #expect(await emulator.refusals(of: "/api/**") == [])
    /// ```
    public func refusals(of path: String = "/**") async -> [String] {
        await self.requests(to: path).compactMap(\.refusal)
    }

    /// Waits until the server responds to a request to a path after a journal entry, and returns the first one.
    ///
    /// - Returns: `nil` when the server stops, or the task is canceled, before there is one.
    public func nextRequest(to path: String, since id: UInt64 = 0) async -> JournalEntry? {
        let events = self.events()  // before looking, so that none is missed in between
        if let entry = await self.requests(to: path, since: id).first { return entry }
        for await event in events where event.kind == .request {
            if let entry = await self.requests(to: path, since: id).first { return entry }
        }
        return nil
    }
}

extension Emulator {
    /// The number of the journal's last entry, after which later requests can be selected.
    public var journalPosition: UInt64 {
        get async { await self.journal().last?.id ?? 0 }
    }

    /// Returns the requests that an activation signed, oldest first.
    ///
    /// - Parameter id: The journal entry after which the requests begin.
    public func signedRequests(of activation: Activation, since id: UInt64 = 0) async -> [JournalEntry] {
        await self.journal(since: id).filter { $0.activationID == activation.activationID && $0.isSigned }
    }
}

extension Emulator.JournalEntry {
    /// Indicates whether the request carried a signature, right or wrong.
    public var isSigned: Bool { self.headers.contains { $0.name.lowercased() == "x-powerauth-authorization" } }
}

extension [Emulator.JournalEntry] {
    /// Those that did what they asked for.
    public var accepted: Self { self.filter(\.isAccepted) }

    /// The reasons why the others were refused.
    public var refusals: [String] { self.compactMap(\.refusal) }

    /// Indicates whether each moved the server's counter by one, from where the one before it left the counter.
    public var areConsecutive: Bool {
        for (entry, next) in zip(self, self.dropFirst()) where entry.counterAfter != next.counterBefore { return false }
        return self.allSatisfy { entry in
            guard let before = entry.counterBefore, let after = entry.counterAfter else { return false }
            return after == before + 1
        }
    }
}
