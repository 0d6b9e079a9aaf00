import CommandLineSupport
import ExactJSON
import MobileToken

extension DriverCommands {
    static let journal = Command(
        "journal",
        summary: "Show the requests that the server handled, and why it refused some.",
        discussion: """
            With --follow, each is shown as it comes, over restarts of the server, until interrupted: from now on, or after the
            one that --since names. With --json each is a document on a line.
            """,
        options: RemoteServer.options + [
            .init("since", "NUMBER", "those after this one"),
            .init("limit", "NUMBER", "how many at most (default: 1000); the last ones, without --since"),
            .init("follow", nil, "go on with those that come"),
        ]
    ) { invocation in
        let server = try RemoteServer(invocation)
        let output = Output(isJSON: invocation.has("json"))
        let since = try invocation.integer("since", in: 0...Int.max)
        let limit = try invocation.integer("limit", in: 1...10_000)
        if invocation.has("follow") {
            guard limit == nil else {
                throw UsageError(message: "--follow has no --limit", command: invocation.command)
            }
            var feed = try await JournalFeed(of: server, since: since)
            while true {
                for entry in try await feed.next() { output.result(entry, text: Self.line(of: entry)) }
                try Task.checkCancellation()
            }
        }
        let bound = since.map { [("since", String($0))] } ?? []
        let page = try await server.send(.get, "/journal", query: bound + [("limit", String(limit ?? 1000))])
        let entries = page["entries"]?.array ?? []
        // Without a beginning, the server begins with the newest.
        for entry in since == nil ? entries.reversed() : entries { output.result(entry, text: Self.line(of: entry)) }
        return .done
    }

    private static func line(of entry: JSONValue) -> String {
        let parts = [
            entry.text("id"), entry.text("time"), "\(entry.text("method")) \(entry.text("path"))", entry.text("status"),
            entry.text("activationID"), entry.text("fault"), entry.text("refusal"),
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }
}
