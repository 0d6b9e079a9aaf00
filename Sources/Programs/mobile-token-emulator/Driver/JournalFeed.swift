import CommandLineSupport
import ExactJSON
import HTTPClientTransport
import MobileToken

/// The entries of a server's journal, followed across restarts and connection losses.
struct JournalFeed: Sendable {
    let server: RemoteServer
    private let filter: [(name: String, value: String)]
    private var since: String
    private var run: String?
    private var isLost = false

    /// - Parameters:
    ///   - since: The number of the entry before the first; `nil` for new entries only.
    ///   - filter: The query parameters of the journal filter.
    init(of server: RemoteServer, since: Int?, _ filter: [(name: String, value: String)]) async throws {
        self.server = server
        self.filter = filter
        self.since = since.map(String.init) ?? "0"
        guard since == nil else { return }
        let page = try await server.send(.get, "/journal", query: [("limit", "1")])
        self.note(page)
        self.since = page["last"]?.number?.literal ?? "0"
    }

    /// Waits for new entries; returns an empty array if the wait ends without any.
    ///
    /// An unreachable server is awaited, with one message.
    mutating func next() async throws -> [JSONValue] {
        var query = self.filter + [("since", self.since), ("wait", "20"), ("limit", "1000")]
        if let run { query.append(("run", run)) }
        do {
            let page = try await self.server.send(.get, "/journal", query: query, timeout: .seconds(40))
            if self.isLost { Output.note("\(CommandLineProgram.name): the server is back") }
            self.isLost = false
            self.note(page)
            let news = page["entries"]?.array ?? []
            // Only up to the last entry returned: there may be more pages.
            let last = news.last?["id"] ?? page["last"]
            self.since = last?.number?.literal ?? self.since
            return news
        } catch let error as MobileTokenError where Self.isPassing(error) {
            if !self.isLost {
                Output.note("\(CommandLineProgram.name): \(TextTable.printable("\(error)")); trying again")
            }
            self.isLost = true
            try await Task.sleep(for: .milliseconds(500))
            return []
        }
    }

    private mutating func note(_ page: JSONValue) { self.run = page["run"]?.string ?? self.run }

    /// Indicates whether the error ends when the server is back.
    private static func isPassing(_ error: MobileTokenError) -> Bool {
        switch error.code {
        case .noConnection, .connectionLost, .timeout, .serverError: true
        default: false
        }
    }
}
