import APIDescriptions
import ExactJSON

extension Emulator {
    /// A space at the moment its test failed.
    package struct FailedSpace: Sendable {
        package let summary: SpaceSummary
        /// The events in it: `operations: 3, refused: 1, The password is wrong`.
        package let events: String
        /// Documents for a later analysis, by file name.
        package let documents: [(name: String, content: [UInt8])]
    }

    /// Records that the test of this space has failed. The first reason counts.
    ///
    /// A server with ``Configuration/keepsFailedSpaces`` then keeps the space, even after ``stop()``.
    ///
    /// - Parameter reason: The reason for the failure, for people.
    /// - Returns: `true` if the space stays.
    /// - Throws: ``EmulatorError`` of code `notFound` if the space is gone, or `refused` if this is no space.
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
    /// Records that a space's test has failed, and reports the first failure.
    func fail(_ id: String, because reason: String?) async throws(EmulatorError) -> Emulator.SpaceSummary {
        let (space, isFirst) = try self.noteFailure(of: id, reason ?? "The test has failed")
        guard isFirst, let report = self.configuration.reportFailedSpace else { return space.summary }
        let counts = await space.core.spaceCounts
        let finding = counts.lastRefusal.map { ", \($0.finding)" } ?? ""
        let documents = await space.core.documents(of: SpaceReport(space: space.summary, counts: counts))
        let events = "operations: \(counts.operations), refused: \(counts.refused)\(finding)"
        await report(.init(summary: space.summary, events: events, documents: documents))
        return space.summary
    }
}

extension EmulatorCore {
    fileprivate func documents(of report: SpaceReport) -> [(name: String, content: [UInt8])] {
        [
            ("summary.json", report.json.serialized()), ("state.json", (try? self.exported()) ?? []),
            ("journal.json", JSONValue.array(self.journal(since: 0).entries.map(\.json)).serialized()),
        ]
    }
}

extension ControlAPI {
    static let spaceFailureRoute = Route(
        "POST /spaces/{id}/failure",
        named: "reportSpaceFailure",
        "Says that the test that uses a space has failed. A server that keeps failed spaces then removes it only at its end.",
        takes: Call.segment("id"),
        Call.body(Self.spaceFailure.form, or: nil),
        gives: Emulator.SpaceSummary.form
    ) { control, id, reason in try await control.spaceDirectory.fail(id, because: reason) }

    private static let spaceFailure = FieldTable<String?>(
        "NewSpaceFailure",
        .optional(
            "reason",
            \.self,
            .string(upTo: 65_536),
            "The reason, for a person.",
            example: "the operation has expired"
        )
    )
}
