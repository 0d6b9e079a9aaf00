import APIDescriptions
import ExactJSON

extension Emulator {
    /// A space whose test has failed, as it was at that moment.
    package struct FailedSpace: Sendable {
        package let summary: SpaceSummary
        /// The documents that a person looks at afterwards, by the names of files.
        package let documents: [(name: String, content: [UInt8])]
    }

    /// Says that the test that uses this space has failed. The first reason counts.
    ///
    /// A server of ``Configuration/keepsFailedSpaces`` then keeps the space: ``stop()`` leaves it as it is.
    ///
    /// - Parameter reason: The reason for the failure, for a person to read.
    /// - Returns: `true` when the space stays.
    /// - Throws: ``EmulatorError`` of code `notFound` when the space is gone, or `refused` when this is none.
    @discardableResult
    public func markFailed(because reason: String? = nil) async throws(EmulatorError) -> Bool {
        guard let (id, spaces) = self.spaceOfServer else {
            throw EmulatorError(.refused, "This is no space: a failure is that of a space's test")
        }
        _ = try await spaces.fail(id, because: reason)
        return self.core.configuration.keepsFailedSpaces
    }
}

extension SpaceDirectory {
    /// Notes that the test of a space has failed, and reports it the first time.
    func fail(_ id: String, because reason: String?) async throws(EmulatorError) -> Emulator.SpaceSummary {
        let (space, isFirst) = try self.noteFailure(of: id, reason ?? "The test has failed")
        guard isFirst, let report = self.configuration.reportFailedSpace else { return space.summary }
        await report(.init(summary: space.summary, documents: await space.core.documents(of: space.summary)))
        return space.summary
    }
}

extension EmulatorCore {
    fileprivate func documents(of summary: Emulator.SpaceSummary) -> [(name: String, content: [UInt8])] {
        [
            ("summary.json", summary.json.serialized()), ("state.json", (try? self.exported()) ?? []),
            ("journal.json", JSONValue.array(self.journal(since: 0).entries.map(\.json)).serialized()),
        ]
    }
}

/// The reason a test has failed.
struct NewSpaceFailure: Described {
    var reason: String?

    static let fields = FieldTable(
        "NewSpaceFailure",
        NewSpaceFailure.init(reason:),
        .optional(
            "reason",
            \.reason,
            .string(upTo: 65_536),
            "The reason, for a person.",
            example: "the operation has expired"
        )
    )
}

extension ControlAPI {
    static let spaceFailureRoute = Route(
        .control(
            "POST",
            "/spaces/{id}/failure",
            named: "reportSpaceFailure",
            "Says that the test that uses a space has failed. A server that keeps failed spaces then removes it only at its end.",
            takes: Call.segment("id"),
            Call.body(NewSpaceFailure.form, or: NewSpaceFailure()),
            gives: Emulator.SpaceSummary.form
        )
    ) { control, input in try await control.spaceDirectory.fail(input.0, because: input.1.reason) }
}
