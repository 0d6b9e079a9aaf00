import APIDescriptions
import EmulatorBackend

/// The requested part of the journal: before an entry, or after one.
struct JournalBounds: Described {
    var since: UInt64?
    var run: String?
    var wait: Int?
    var before: UInt64?
    var limit: Int

    static let fields = FieldTable(
        "JournalBounds",
        JournalBounds.init,
        .optional("since", \.since, .count, "The entries after the one of this number, oldest first.", unit: .number),
        .optional(
            "run",
            \.run,
            .string,
            "The run of the server that `since` is of; another one tells all that it has, at once."
        ),
        .optional(
            "wait",
            \.wait,
            .integer(0...60),
            "The longest time to wait for an entry where there is none yet.",
            unit: .seconds
        ),
        .optional(
            "before",
            \.before,
            .count,
            "The entries before the one of this number, newest first.",
            unit: .number
        ),
        .preset("limit", \.limit, .integer(1...10_000), or: 1000, "The maximum number of entries; 1000 by default.")
    ).refusing { bounds in
        guard bounds.before != nil, bounds.isFeed else { return nil }
        return .init(member: "before", hint: "is given beside 'since', 'run' or 'wait', which lead the other way")
    }

    /// Indicates whether a program follows the journal, which then starts with the oldest entries.
    var isFeed: Bool { self.since != nil || self.run != nil || self.wait != nil }
}

struct JournalPage: Described {
    var entries: [Emulator.JournalEntry]
    /// The newest entry's number, for the next `since`.
    var last: UInt64
    /// The run of the server that assigned the numbers.
    var run: String

    static let fields = FieldTable(
        "Journal",
        JournalPage.init(entries:last:run:),
        .required("entries", \.entries, .list(of: .described)),
        .required("last", \.last, .count, "The number of the newest entry, for the next `since`.", unit: .number),
        .required("run", \.run, .string, "The run of the server that has numbered them.")
    )
}

extension ControlAPI {
    static let journalRoutes = [
        Route(
            "GET /journal",
            named: "listJournalEntries",
            "Tells what was received, and why it was refused: the newest first, or with since, run or wait the oldest first.",
            takes: Call.query(Emulator.JournalFilter.fields, JournalBounds.fields),
            gives: JournalPage.form
        ) { control, asked in try await control.journal(asked.0, asked.1) },
        // A separate call: followers of the journal poll often, and would repeat the count each time.
        Route(
            "GET /journal/count",
            named: "countJournalEntries",
            "Counts what was received.",
            takes: Call.query(Emulator.JournalFilter.fields),
            gives: FieldTable<Int>("JournalCount", .required("count", \.self, .count)).form
        ) { control, filter in await control.core.journalCount(filter) },
        Route(
            "GET /journal/{id}",
            named: "getJournalEntry",
            "Tells of one request.",
            takes: Call.segment("id"),
            gives: Emulator.JournalEntry.form
        ) { control, id in
            guard let number = UInt64(id), let entry = await control.core.journalEntry(number) else {
                throw Refusal(404, "ERROR_NOT_FOUND", "There is no such request, or it is forgotten")
            }
            return entry
        },
    ]

    private func journal(_ filter: Emulator.JournalFilter, _ bounds: JournalBounds) async throws -> JournalPage {
        let run = self.core.callbackQueue.runID
        guard bounds.isFeed else {
            let page = await self.core.journal(before: bounds.before ?? .max, limit: bounds.limit, filter)
            return JournalPage(entries: page.entries, last: page.lastID, run: run)
        }
        let isOfThisRun = bounds.run.map { $0 == run } ?? true
        let since = isOfThisRun ? bounds.since ?? 0 : 0
        return try await self.core.waiting(
            .seconds(bounds.wait ?? 0),
            for: [.request],
            unlessThereAre: self.capacity.eventStreams
        ) {
            let page = await self.core.journal(since: since, limit: bounds.limit, filter)
            // A client with a number that this server has not assigned is told at once: it may have to repeat its setup of the
            // lost run.
            let isNews = !page.entries.isEmpty || !isOfThisRun || page.lastID < since
            return (JournalPage(entries: page.entries, last: page.lastID, run: run), isNews)
        }
    }
}
