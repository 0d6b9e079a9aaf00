public import MobileToken
public import MobileTokenEmulator

extension Emulator {
    /// The requests to a path, oldest first; the path's end is enough, such as `/operation/list`.
    ///
    /// - Parameter id: Only those after the journal's entry of this number.
    public func requests(to path: String, since id: UInt64 = 0) async -> [JournalEntry] {
        await self.journal(since: id).filter { $0.path.hasSuffix(path) }
    }

    /// The requests that took a signature of an activation, oldest first.
    public func signedRequests(of activation: Activation, since id: UInt64 = 0) async -> [JournalEntry] {
        await self.journal(since: id).filter { entry in
            entry.activationID == activation.activationID && entry.isSigned
        }
    }

    /// The number of the journal's last entry.
    public var journalPosition: UInt64 {
        get async { await self.journal().last?.id ?? 0 }
    }
}

extension Emulator.JournalEntry {
    /// Whether the request carried a signature, right or wrong.
    public var isSigned: Bool { self.header("X-PowerAuth-Authorization") != nil }

    /// A header field of the request.
    public func header(_ name: String) -> String? {
        self.headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

extension [Emulator.JournalEntry] {
    /// Those that did what they asked for.
    public var accepted: Self { self.filter(\.isAccepted) }

    /// Why the others did not.
    public var refusals: [String] { self.compactMap(\.refusal) }

    /// Whether each moved the server's counter by one, from where the one before it left the counter.
    public var areConsecutive: Bool {
        for (entry, next) in zip(self, self.dropFirst()) where entry.counterAfter != next.counterBefore { return false }
        return self.allSatisfy { entry in
            guard let before = entry.counterBefore, let after = entry.counterAfter else { return false }
            return after == before + 1
        }
    }
}
