import APIDescriptions
import CommandLineSupport
import ExactJSON
import HTTPClientTransport
import MobileTokenEmulator

extension DriverCommands {
    static let journal = Command(
        "journal",
        summary: "Show the requests that the server handled, and why it refused some.",
        discussion: """
            With --follow, each is shown as it comes, over restarts of the server, until interrupted: from now on, or after the
            one that --since names. With --json each is a document on a line. Filters combine: what is shown fulfils all.
            """,
        options: RemoteServer.options + [
            .init("since", "NUMBER", "those after this one"),
            .init("limit", "NUMBER", "how many at most (default: 1000); the last ones, without --since"),
            .init("follow", nil, "go on with those that come"),
            .init("count", nil, "show only how many there are"),
        ] + Self.filters.map(\.option)
    ) { invocation in
        let server = try RemoteServer(invocation)
        let output = Output(isJSON: invocation.has("json"))
        let since = try invocation.integer("since", in: 0...Int.max)
        let limit = try invocation.integer("limit", in: 1...10_000)
        let filter = Self.filters.compactMap { option, name in invocation[option.name].map { (name, $0) } }
        if invocation.has("count") {
            guard since == nil, limit == nil, !invocation.has("follow") else {
                throw invocation.misuse("--count goes with filters alone")
            }
            return Self.show(invocation, try await server.send(.get, "/journal/count", query: filter)) {
                $0.text("count")
            }
        }
        if invocation.has("follow") {
            guard limit == nil else {
                throw invocation.misuse("--follow has no --limit")
            }
            var feed = try await JournalFeed(of: server, since: since, filter)
            while true {
                for entry in try await feed.next() { output.result(entry, text: Self.line(of: entry)) }
                try Task.checkCancellation()
            }
        }
        let bound = since.map { [("since", String($0))] } ?? []
        let page = try await server.send(.get, "/journal", query: filter + bound + [("limit", String(limit ?? 1000))])
        let entries = page["entries"]?.array ?? []
        // Without `since`, the server lists the newest entries first.
        for entry in since == nil ? entries.reversed() : entries { output.result(entry, text: Self.line(of: entry)) }
        return .done
    }

    /// The server's filters as options, with their names.
    private static let filters = Emulator.JournalFilter.fields.members.map { member in
        let name = member.name.hyphenated
        return (option: Command.Option(name, name.uppercased(), member.optionHelp), name: member.name)
    }

    private static func line(of entry: JSONValue) -> String {
        let parts = [
            entry.text("id"), entry.text("time"), "\(entry.text("method")) \(entry.text("path"))", entry.text("status"),
            entry.text("activationId"), entry.text("fault"), entry.text("refusal"),
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }
}

extension Schema.Member {
    /// The summary as an option's help, without capital and period.
    fileprivate var optionHelp: String {
        let first = self.summary.prefix(1).lowercased()
        return first + self.summary.dropFirst().prefix { $0 != "." }
    }
}
