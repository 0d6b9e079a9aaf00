import APIDescriptions
import EmulatorBackend

extension ControlAPI {
    static let snapshotRoutes: [Route] = [
        Route(
            .control(
                "GET",
                "/snapshots",
                "Lists the snapshots.",
                takes: Call.query(PageBounds.fields),
                gives: SummaryPage<Emulator.SnapshotSummary>.form("SnapshotSummaries")
            )
        ) { control, bounds in SummaryPage(await control.core.snapshots.newestFirst, bounds) { $0 } },
        Route(
            .control(
                "POST",
                "/snapshots",
                "Keeps all that there is at this moment, but the journal, the pushes and the spaces, to be put back.",
                takes: Call.body(NewSnapshot.form, or: NewSnapshot()),
                gives: Emulator.SnapshotSummary.form,
                refuses: [507]
            )
        ) { control, snapshot in try await control.core.takeSnapshot(named: snapshot.name) },
        Route(
            .control(
                "POST",
                "/snapshots/{id}/restore",
                "Puts back what a snapshot holds. The journal goes on, and has an entry for this.",
                takes: Call.segment("id"),
                gives: Emulator.SnapshotSummary.form
            )
        ) { control, id in try await control.core.restoreSnapshot(Self.snapshotNumber(id)) },
        Route(
            .control(
                "DELETE",
                "/snapshots/{id}",
                "Removes a snapshot.",
                takes: Call.segment("id"),
                gives: Form.done
            )
        ) { control, id in try await control.core.removeSnapshot(Self.snapshotNumber(id)) },
    ]

    private static func snapshotNumber(_ id: String) throws(EmulatorError) -> UInt64 {
        guard let number = UInt64(id) else { throw .unknownSnapshot }
        return number
    }
}

/// The name of a snapshot.
struct NewSnapshot: Described {
    var name: String?

    static let fields = FieldTable(
        "NewSnapshot",
        NewSnapshot.init(name:),
        .optional("name", \.name, .word, "What to call it in lists; 255 bytes at most.", example: "before the payment")
    )
}
