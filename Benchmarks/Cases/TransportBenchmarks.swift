import Foundation
import FoundationNetworking
import HTTPClientTransport

#if AsyncHTTPClient
    import AsyncHTTPClient
#endif

/// The wire: 32 requests in flight to a server in another process.
let transportBenchmarks: [Benchmark] = [
    Benchmark(
        "http.post",
        "a POST of 256 bytes, 32 in flight, answered with a short JSON object",
        unit: .perSecond,
        goals: [.atLeast(0.75, timesBaseline: "libcurl multi"), .atLeast(8, timesBaseline: "URLSession")]
    ) {
        let server = try StaticServerProcess()
        let body = [UInt8](repeating: 0x61, count: 256)
        let transport = try CurlTransport()
        let bare = BareCurl(url: server.url, body: body, inFlight: inFlight)
        let session = URLSession(configuration: .requestsInFlight(inFlight))
        let url = server.url
        let expected = StaticServer.shortBody.utf8.count
        let request = HTTPRequest(url: url, headers: ["Content-Type": "application/json"], body: body)
        let neighbor = neighbor(request) { try await inParallel($0, $1) }
        return Scenario(
            Subject(repeating: { count in
                try await inParallel(count) { _ in
                    let response = try await transport.send(request)
                    try check(response.body.count == expected)
                }
            }),
            baselines: [
                Subject(
                    "libcurl multi",
                    repeating: { count in
                        try await onThread { try bare.run(count, expecting: expected) }
                    }
                ),
                Subject(
                    "URLSession",
                    repeating: { count in
                        try await inParallel(count) { _ in
                            var request = URLRequest(url: try unwrap(URL(string: url)))
                            request.httpMethod = "POST"
                            request.httpBody = Data(body)
                            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
                            let (data, _) = try await session.data(for: request)
                            try check(data.count == expected)
                        }
                    }
                ),
            ] + neighbor.baselines,
            tearDown: {
                session.invalidateAndCancel()
                await neighbor.end()
                await transport.shutdown()
                server.stop()
            }
        )
    },

    Benchmark("http.latency", "the same POST, one at a time", unit: .microseconds) {
        let server = try StaticServerProcess()
        let body = [UInt8](repeating: 0x61, count: 256)
        let transport = try CurlTransport()
        let bare = BareCurl(url: server.url, body: body, inFlight: 1)
        let url = server.url
        let expected = StaticServer.shortBody.utf8.count
        let request = HTTPRequest(url: url, headers: ["Content-Type": "application/json"], body: body)
        let neighbor = neighbor(request) { count, operation in for _ in 0..<count { try await operation(0) } }
        return Scenario(
            Subject(repeating: { count in
                for _ in 0..<count { try check(try await transport.send(request).body.count == expected) }
            }),
            baselines: [
                Subject(
                    "libcurl multi",
                    repeating: { count in
                        try await onThread { try bare.run(count, expecting: expected) }
                    }
                )
            ] + neighbor.baselines,
            tearDown: {
                await neighbor.end()
                await transport.shutdown()
                server.stop()
            }
        )
    },
]

/// The same over AsyncHTTPClient, where its trait is on, and the end of its client.
private func neighbor(
    _ request: HTTPRequest,
    _ repeated: @escaping @Sendable (Int, @escaping @Sendable (Int) async throws -> Void) async throws -> Void
) -> (baselines: [Subject], end: @Sendable () async -> Void) {
    #if AsyncHTTPClient
        var settings = HTTPClient.Configuration()
        settings.redirectConfiguration = .disallow
        settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = inFlight
        let client = HTTPClient(configuration: settings)
        let transport = AsyncHTTPTransport(client: client)
        let subject = Subject(
            "AsyncHTTPClient",
            repeating: { count in
                try await repeated(count) { _ in try check(try await transport.send(request).status == 200) }
            }
        )
        return ([subject], { try? await client.shutdown() })
    #else
        ([], {})
    #endif
}

let inFlight = 32

struct UnexpectedAnswer: Error, CustomStringConvertible {
    let description: String

    init(fileID: StaticString, line: UInt) {
        self.description = "an unexpected answer at \(fileID):\(line)"
    }
}

func check(_ condition: Bool, fileID: StaticString = #fileID, line: UInt = #line) throws {
    if !condition { throw UnexpectedAnswer(fileID: fileID, line: line) }
}

func unwrap<Value>(_ value: Value?, fileID: StaticString = #fileID, line: UInt = #line) throws -> Value {
    guard let value else { throw UnexpectedAnswer(fileID: fileID, line: line) }
    return value
}

/// Repeats `operation`, as many at a time as are to be in flight.
///
/// - Parameter operation: Is told which of those it is.
func inParallel(_ count: Int, _ operation: @escaping @Sendable (Int) async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<min(inFlight, count) {
            let share = count / inFlight + (number < count % inFlight ? 1 : 0)
            group.addTask { for _ in 0..<share { try await operation(number) } }
        }
        try await group.waitForAll()
    }
}

/// Runs `operation`, which blocks, on a thread of its own.
func onThread(_ operation: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: operation)) }
    }
}

extension URLSessionConfiguration {
    /// Nothing that costs time, and as many connections as there are requests in flight.
    fileprivate static func requestsInFlight(_ count: Int) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = count
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        return configuration
    }
}
