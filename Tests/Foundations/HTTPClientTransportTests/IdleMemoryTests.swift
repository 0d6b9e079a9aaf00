import Foundation
import HTTPClientTransport
import TestSupport
import Testing

/// The memory that idle connections keep of the data that went through them. In a process of its own, where nothing else takes
/// memory.
@Suite(.timeLimit(.minutes(5))) struct IdleMemoryTests {
    @Test(
        .enabled(
            if: ProcessInfo.processInfo.environment["MOBILE_TOKEN_SANITIZER"] == nil,
            "a sanitizer's allocator keeps what is given back"
        )
    ) func theLastBodiesAreNotKept() async {
        await #expect(processExitsWith: .success) {
            // Large blocks go back to the system as soon as they are freed, so that what is resident is what is in use.
            let mallopt = unsafeBitCast(dlsym(nil, "mallopt"), to: (@convention(c) (Int32, Int32) -> Int32).self)
            precondition(mallopt(-3, 1 << 20) == 1)  // M_MMAP_THRESHOLD
            let before = try Self.residentBytes()
            let (count, size) = (60, 4 << 20)
            // All are answered together, so each needs a connection and a handle of its own.
            let gate = DispatchGroup()
            for _ in 0..<count { gate.enter() }
            let server = try ScriptedServer { connection in
                guard connection.readRequest() != nil else { return }
                gate.leave()
                gate.wait()
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                connection.write([UInt8](repeating: UInt8(ascii: "x"), count: size))
                connection.answerAll()
            }
            let transport = try CurlTransport(configuration: altered(.init()) { $0.maximumRequestsPerHost = count })
            let url = server.url
            let received = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<count {
                    group.addTask { try await transport.send(HTTPRequest(.get, url: url)).body.count }
                }
                return try await group.reduce(0, +)
            }
            precondition(received == count * size)
            // Once this is answered, the engine has handed over everything that came before.
            let last = try await transport.send(HTTPRequest(.get, url: url))
            precondition(last.body.count == 2)
            let kept = try Self.residentBytes() - before
            precondition(kept < 60 << 20, "\(kept >> 20) MiB are kept")
        }
    }

    private static func residentBytes() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        return try #require(fields.count > 1 ? Int(fields[1]) : nil) * Int(getpagesize())
    }
}
