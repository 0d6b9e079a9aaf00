import APIDescriptions
import EmulatorBackend
import EmulatorHTTP
import ExactJSON

extension ControlAPI {
    static let spaceRoutes: [Route] = [
        Route(
            "GET /spaces",
            "Lists the spaces, those of failed tests first, with what happened in each.",
            takes: Call.query(PageBounds.fields),
            gives: SummaryPage<SpaceReport>.form("SpaceReports"),
            refuses: [404]
        ) { control, bounds in
            let spaces = try control.spaceDirectory.newestFirst
            let ordered = spaces.filter { $0.summary.failure != nil } + spaces.filter { $0.summary.failure == nil }
            let page = SummaryPage(ordered, bounds) { $0 }
            var reports: [SpaceReport] = []
            for space in page.items { reports.append(await SpaceReport(space, below: control.address.origin)) }
            return SummaryPage(items: reports, total: page.total)
        },
        Route(
            "POST /spaces",
            "Makes a space: a server of its own below its own URL, with its own state, clock, faults and journal.",
            takes: Call.body(NewSpace.form, or: NewSpace()),
            gives: Emulator.SpaceSummary.form,
            refuses: [404, 409, 507],
            mayBeLarge: { $0.beginning?.state != nil }
        ) { control, space in
            let spaces = try control.spaceDirectory
            return try await spaces.make(
                named: space.name,
                seed: space.seed,
                from: try space.beginning?.origin(in: spaces),
                at: await control.core.now,
                below: control.address.origin
            ).summary
        },
        Route("DELETE /spaces", "Removes all spaces.", gives: Form.done, refuses: [404]) { control in
            await (try control.spaceDirectory).removeAll()
        },
        Route(
            "GET /spaces/{id}",
            "Shows a space.",
            takes: Call.segment("id"),
            gives: SpaceReport.form
        ) { control, id in
            await SpaceReport(try control.spaceDirectory[id].found("space"), below: control.address.origin)
        },
        Route(
            "DELETE /spaces/{id}",
            "Removes a space with all that is in it.",
            takes: Call.segment("id"),
            gives: Form.done
        ) { control, id in try await control.spaceDirectory.remove(id) },
        Self.spaceFailureRoute,
    ]

    var spaceDirectory: SpaceDirectory {
        get throws(Refusal) {
            guard let spaces = self.spaces else {
                throw Refusal(404, "ERROR_NOT_FOUND", "A space has no spaces of its own; ask the server that it is in")
            }
            return spaces
        }
    }
}

struct NewSpace: Described {
    var name: String?
    var seed: UInt64?
    var beginning: SpaceBeginning?

    static let fields = FieldTable(
        "NewSpace",
        NewSpace.init(name:seed:beginning:),
        .optional("name", \.name, .word, "Its name in lists; 255 bytes at most.", example: "checkout tests"),
        .optional("seed", \.seed, .count, "Fixes its identifiers, keys and nonces.", example: UInt64(1), unit: .seed),
        .optional(
            "from",
            \.beginning,
            .described,
            "Its content at the beginning and after a reset; empty by default."
        )
    )
}

/// The origin of a space: exactly one of these.
struct SpaceBeginning: Described {
    var scenario: JSONValue?
    var state: JSONValue?
    var space: String?

    static let fields = FieldTable(
        "SpaceBeginning",
        SpaceBeginning.init(scenario:state:space:),
        .optional("scenario", \.scenario, .json(.scenario), "Makes all that it asks for, or no space."),
        .optional("state", \.state, .json(.exportedState), "An exported one, with its keys."),
        .optional(
            "space",
            \.space,
            .word,
            "The identifier of a space to copy, or server; all but the journal and the pushes."
        )
    ).refusing { beginning in
        let count = [beginning.scenario, beginning.state, beginning.space.map { .string($0) }].count { $0 != nil }
        guard count != 1 else { return nil }
        return Schema.Objection(member: "", hint: "needs one of scenario, state and space, and no other")
    }

    func origin(in spaces: SpaceDirectory) throws -> Emulator.SpaceOrigin? {
        if let scenario = self.scenario {
            return .init(.scenario(.success(try Scenario(scenario, in: "from.scenario"))))
        }
        if let state = self.state { return .init(.state(state.serialized())) }
        return try self.space.map { try spaces.copy(of: $0) }
    }
}

extension Emulator {
    /// Makes a space in this server: an isolated server with its own address.
    ///
    /// It has its own applications, activations, operations, clock, faults, journal, callbacks and pushes, which neither the
    /// server nor other spaces can see or change. Credentials and rules are the server's. A space is in memory, even if the
    /// server has a data file. ``stop()`` removes it, and so does the end of the server.
    ///
    /// ```swift
    /// let space = try await emulator.makeSpace(named: "a test", seed: 7)
    /// await space.clock.freeze()
    /// print(space.baseURL)  // http://127.0.0.1:49152/spaces/…/enrollment-server
    /// await space.stop()
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name in lists; at most 255 bytes.
    ///   - seed: Fixes its identifiers, keys and nonces. A state and a copy continue with their own.
    ///   - origin: The initial content; empty by default. If it cannot be made, there is no space.
    /// - Returns: The space, with all members of a server. It keeps the server running.
    /// - Throws:
    ///   ``EmulatorError`` of code `capacityExceeded` if there are too many, `refused` if this is a space, or the errors of ``importState(_:)`` and ``play(scenario:)``.
    public func makeSpace(
        named name: String? = nil,
        seed: UInt64? = nil,
        from origin: SpaceOrigin? = nil
    ) async throws(EmulatorError) -> Emulator {
        guard let spaces = self.spaceDirectory else {
            throw EmulatorError(.refused, "A space has no spaces of its own; ask the server that it is in")
        }
        let now = await self.clock.now
        let space = try await spaces.make(named: name, seed: seed, from: origin, at: now, below: self.cloudURL)
        return Emulator(space, of: self)
    }

    /// Returns a space of this server, including those made over HTTP; `nil` if there is none.
    public func space(_ id: SpaceSummary.ID) -> Emulator? {
        self.spaceDirectory?[id].map { Emulator($0, of: self) }
    }

    /// The spaces of this server, newest first; a space has none.
    public func spaces() -> [SpaceSummary] { self.spaceDirectory?.newestFirst.map(\.summary) ?? [] }
}
