package import APIDescriptions
public import Foundation

extension Emulator {
    /// A space of a server.
    public struct SpaceSummary: Sendable, Codable, Hashable, Identifiable {
        /// The identifier, which is part of its address.
        public var id: String
        /// The name given at its creation.
        public var name: String?
        /// The address of its cloud API, control API and console, like a server's ``Emulator/cloudURL``.
        public var url: String
        /// The address for its clients, like a server's ``Emulator/baseURL``.
        public var baseURL: String
        /// The time of creation, by the server's clock.
        public var created: Date
        /// The reported reason for the failure of its test.
        public var failure: String?
    }
}

extension Emulator.SpaceSummary {
    static let maximumNameLength = 255

    init(id: String, name: String?, created: Date, origin: String) {
        let url = origin + SpacePath.prefix(of: id)
        self.init(id: id, name: name, url: url, baseURL: url + "/enrollment-server", created: created)
    }

    /// Returns the space below another address of its server.
    func below(_ origin: String) -> Self {
        var summary = Self(id: self.id, name: self.name, created: self.created, origin: origin)
        summary.failure = self.failure
        return summary
    }

    static func check(name: String) throws(EmulatorError) {
        guard !name.isEmpty, name.utf8.count <= Self.maximumNameLength else {
            let message = "'name' must have 1 to \(Self.maximumNameLength) bytes"
            throw EmulatorError(.invalidConfiguration, message)
        }
    }
}

/// A space with its counts, for a list that reads as a report of tests.
struct SpaceReport: Described {
    struct Counts: Sendable {
        var operations: Int
        var refused: Int
        var lastRefusal: Refusal?
    }

    struct Refusal: Sendable {
        var id: UInt64
        var finding: String
    }

    var space: Emulator.SpaceSummary
    var counts: Counts

    static let fields = FieldTable("SpaceReport", Self.init(space:counts:), \.space, \.counts)

    init(space: Emulator.SpaceSummary, counts: Counts) { (self.space, self.counts) = (space, counts) }

    /// - Parameter origin: The address by which its server was reached.
    init(_ space: Space, below origin: String) async {
        self.init(space: space.summary.below(origin), counts: await space.core.spaceCounts)
    }
}

extension SpaceReport.Counts: Described {
    static let fields = FieldTable(
        "SpaceCounts",
        Self.init(operations:refused:lastRefusal:),
        .required("operations", \.operations, .count, "The operations in it."),
        .required("refused", \.refused, .count, "The requests that were refused in it."),
        .optional("lastRefusal", \.lastRefusal, .described, "The last of them.")
    )
}

extension SpaceReport.Refusal: Described {
    static let fields = FieldTable(
        "SpaceRefusal",
        Self.init(id:finding:),
        .required("id", \.id, .count, "The number in the journal.", unit: .number),
        .required("finding", \.finding, .string, "The reason in a few words.")
    )
}

extension EmulatorCore {
    var spaceCounts: SpaceReport.Counts {
        let last = self.journal.lastRefusedID.flatMap(self.journal.entry)
        return .init(
            operations: self.backend.state.operations.count,
            refused: self.journal.refusedCount,
            lastRefusal: last.map { .init(id: $0.id, finding: $0.finding ?? "") }
        )
    }
}

extension Emulator.SpaceSummary: Described {
    package static let fields = FieldTable(
        "SpaceSummary",
        Self.init(id:name:url:baseURL:created:failure:),
        .required("id", \.id, .string),
        .optional("name", \.name, .string),
        .required("url", \.url, .string, "All that is described here is found below it, too."),
        .required("baseURL", \.baseURL, .string, "The base URL that its clients are configured with."),
        .required("created", \.created, .date),
        .optional("failure", \.failure, .string, "The failure of the test that uses it, once that is said.")
    )
}
