import EmulatorBackend
import EmulatorHTTP
import EmulatorMessages
import ExactJSON

extension ControlAPI {
    static let spaceRoutes: [Route] = [
        Route(
            .control(
                "GET",
                "/spaces",
                "Lists the spaces.",
                takes: Call.query(PageBounds.fields),
                gives: SummaryPage<Emulator.SpaceSummary>.form("SpaceSummaries"),
                refuses: [404]
            )
        ) { control, bounds in SummaryPage(try control.spaceDirectory.newestFirst, bounds, \.summary) },
        Route(
            .control(
                "POST",
                "/spaces",
                "Makes a space: a server of its own below its own URL, with its own state, clock, faults and journal.",
                takes: Call.body(NewSpace.form, or: NewSpace()),
                gives: Emulator.SpaceSummary.form,
                refuses: [404, 507]
            )
        ) { control, space in
            try control.spaceDirectory.make(
                named: space.name,
                seed: space.seed,
                at: await control.core.now,
                below: control.address.origin
            ).summary
        },
        Route(.control("DELETE", "/spaces", "Removes all spaces.", gives: Form.done, refuses: [404])) { control, _ in
            await (try control.spaceDirectory).removeAll()
        },
        Route(
            .control(
                "GET",
                "/spaces/{id}",
                "Shows a space.",
                takes: Call.segment("id"),
                gives: Emulator.SpaceSummary.form
            )
        ) { control, id in
            guard let space = try control.spaceDirectory[id] else { throw Refusal.unknownSpace }
            return space.summary
        },
        Route(
            .control(
                "DELETE",
                "/spaces/{id}",
                "Removes a space with all that is in it.",
                takes: Call.segment("id"),
                gives: Form.done
            )
        ) { control, id in try await control.spaceDirectory.remove(id) },
    ]

    private var spaceDirectory: SpaceDirectory {
        get throws(Refusal) {
            guard let spaces = self.spaces else {
                throw Refusal(404, "ERROR_NOT_FOUND", "A space has no spaces of its own; ask the server that it is in")
            }
            return spaces
        }
    }
}

/// The name and the randomness that a space is made with.
struct NewSpace: Described {
    var name: String?
    var seed: UInt64?

    static let fields = FieldTable(
        "NewSpace",
        NewSpace.init(name:seed:),
        .optional("name", \.name, .word, "What to call it in lists; 255 bytes at most.", example: "checkout tests"),
        .optional("seed", \.seed, .count, "Fixes its identifiers, keys and nonces.", example: UInt64(1))
    )
}

extension Refusal {
    static let unknownSpace = Self(404, "ERROR_NOT_FOUND", "There is no such space")
}
