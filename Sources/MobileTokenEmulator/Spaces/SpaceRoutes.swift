import EmulatorBackend
import EmulatorHTTP
import EmulatorMessages

extension ControlAPI {
    static let spaceRoutes: [Route] = [
        Route(
            "GET",
            "/spaces",
            "Lists the spaces.",
            asks: .page,
            gives: .json(.spaceSummaries),
            refuses: [404]
        ) { control, request, _ in
            .encoding(SummaryPage(try control.spaceDirectory.newestFirst, try .init(request), \.summary))
        },
        Route(
            "POST",
            "/spaces",
            "Makes a space: a server of its own below its own URL, with its own state, clock, faults and journal.",
            takes: .optional(.newSpace),
            gives: .json(.spaceSummary),
            refuses: [404, 507]
        ) { control, request, _ in
            try await control.makeSpace(request.body.isEmpty ? NewSpace() : request.decoded())
        },
        Route("DELETE", "/spaces", "Removes all spaces.", refuses: [404]) { control, _, _ in
            await (try control.spaceDirectory).removeAll()
            return .ok
        },
        Route("GET", "/spaces/{id}", "Shows a space.", gives: .json(.spaceSummary)) { control, _, arguments in
            guard let space = try control.spaceDirectory[arguments[0]] else { throw Refusal.unknownSpace }
            return .encoding(space.summary)
        },
        Route("DELETE", "/spaces/{id}", "Removes a space with all that is in it.") { control, _, arguments in
            try await control.spaceDirectory.remove(arguments[0])
            return .ok
        },
    ]

    /// What a space is made with.
    struct NewSpace: Decodable {
        var name: String?
        var seed: UInt64?
    }

    private var spaceDirectory: SpaceDirectory {
        get throws(Refusal) {
            guard let spaces = self.spaces else {
                throw Refusal(404, "ERROR_NOT_FOUND", "A space has no spaces of its own; ask the server that it is in")
            }
            return spaces
        }
    }

    private func makeSpace(_ request: NewSpace) async throws -> ServerResponse {
        let space = try self.spaceDirectory.make(
            named: request.name,
            seed: request.seed,
            at: await self.core.now,
            below: self.address.origin
        )
        return .encoding(space.summary)
    }
}

extension Refusal {
    static let unknownSpace = Self(404, "ERROR_NOT_FOUND", "There is no such space")
}

extension Schema {
    fileprivate static let newSpace = Self.object(
        "NewSpace",
        [
            .optional("name", .word, "What to call it in lists; 255 bytes at most."),
            .optional("seed", .count, "Fixes its identifiers, keys and nonces."),
        ]
    )

    fileprivate static let spaceSummary = Self.object(
        "SpaceSummary",
        [
            .required("id", .string), .optional("name", .string),
            .required("url", .string, "All that is described here is found below it, too."),
            .required("baseURL", .string, "What its clients are configured with."),
            .required("created", .date),
        ]
    )

    fileprivate static let spaceSummaries = Self.object(
        "SpaceSummaries",
        [.required("items", .list(of: .spaceSummary)), .required("total", .count)]
    )
}
