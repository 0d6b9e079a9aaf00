public import MobileToken
public import MobileTokenEmulator

extension Emulator {
    /// Returns the requests to a path, oldest first.
    ///
    /// - Parameters:
    ///   - path: Without `/enrollment-server`; `*` is any string without a slash, `**` any string.
    ///   - id: The journal entry after which the requests begin.
    public func requests(to path: String, since id: UInt64 = 0) async -> [JournalEntry] {
        let pattern = PathPattern(path)
        return await self.journal(since: id).filter { pattern.matches($0.path) }
    }

    /// Returns the reasons of refused requests to a path, oldest first.
    ///
    /// ```swift
    /// #expect(await emulator.refusals(of: "/api/**") == [])
    /// ```
    public func refusals(of path: String = "/**") async -> [String] {
        await self.requests(to: path).compactMap(\.refusal)
    }

    /// Waits for the server's response to a request to a path after a journal entry, and returns the first one.
    ///
    /// - Returns: `nil` if the server stops, or the task is canceled, before there is one.
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
    /// The number of the journal's last entry, to select later requests.
    public var journalPosition: UInt64 {
        get async { await self.journal().last?.id ?? 0 }
    }

    /// Returns the requests that an activation signed, oldest first.
    ///
    /// - Parameters:
    ///   - activation: The activation.
    ///   - id: The journal entry after which the requests begin.
    public func signedRequests(of activation: Activation, since id: UInt64 = 0) async -> [JournalEntry] {
        await self.journal(since: id).filter { $0.activationID == activation.activationID && $0.isSigned }
    }
}

extension Emulator {
    /// Returns lines that tell why a test may have failed: the last requests that were refused, or of which a part was ignored, and
    /// what pending operations wait for, and the faults that met no request.
    ///
    /// - Parameter areLinked: `true` to name the pages of a server that goes on.
    package func reasons(areLinked: Bool) async -> [String] {
        func line(_ reason: String, _ page: String) -> String {
            reason + (areLinked ? "; see \(self.cloudURL)/console/#\(page)" : "")
        }
        let entries = await self.journal().filter { !$0.isAccepted || $0.warnings != nil }
        var lines = entries.suffix(20).map { entry in
            let reason = entry.finding ?? (entry.warnings ?? []).map(\.message).joined(separator: ", ")
            let verdict = entry.isAccepted ? "Warning" : "Refused"
            return line("\(verdict): \(entry.method) \(entry.path): \(entry.status), \(reason)", "journal/\(entry.id)")
        }
        for operation in await self.operations().filter({ $0.status == .pending }).prefix(5) {
            guard let awaited = await self.awaited(ofOperation: operation.id) else { continue }
            let subject = "\(operation.name) of \(operation.userID ?? "anybody")"
            lines.append(line("Pending: \(subject): \(awaited)", "operations/\(operation.id)"))
        }
        let faults = zip(await self.faults.rules, await self.faults.counts).filter { $0.1.matched == 0 }
        return lines + faults.map { "No request has met the fault rule on \($0.0.match.path ?? "/**")" }
    }
}

extension Emulator.JournalEntry {
    /// Indicates whether the request carried a signature, valid or not.
    public var isSigned: Bool { self.headers.contains { $0.name.lowercased() == "x-powerauth-authorization" } }
}

extension [Emulator.JournalEntry] {
    /// The successful requests.
    public var accepted: Self { self.filter(\.isAccepted) }

    /// The reasons of the refused ones.
    public var refusals: [String] { self.compactMap(\.refusal) }

    /// Indicates whether each moved the server's counter by one, without gaps.
    public var areConsecutive: Bool {
        for (entry, next) in zip(self, self.dropFirst()) where entry.counterAfter != next.counterBefore { return false }
        return self.allSatisfy { entry in
            guard let before = entry.counterBefore, let after = entry.counterAfter else { return false }
            return after == before + 1
        }
    }
}
