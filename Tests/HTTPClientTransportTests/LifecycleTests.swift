import Foundation
import Testing

@testable import HTTPClientTransport

@Suite(.timeLimit(.minutes(4))) struct LifecycleTests {
    @Test func shutdownEndsEveryPendingCall() async throws {
        let server = try ScriptedServer { $0.waitForClose() }
        defer { server.stop() }
        var configuration = CurlTransport.Configuration()
        configuration.maximumRequestsPerHost = 5
        let transport = try CurlTransport(configuration: configuration)
        let calls = (0..<20).map { _ in Task { try await transport.send(HTTPRequest(url: server.url)) } }
        await server.waitFor(.accepted(connection: 4))
        await transport.shutdown()
        for call in calls { await #expect(throws: HTTPTransportError(.shutdown)) { try await call.value } }
        for connection in 0..<5 { await server.waitFor(.clientClosed(connection: connection)) }
    }

    @Test func afterShutdownNothingIsSent() async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try CurlTransport()
        _ = try await transport.send(HTTPRequest(url: server.url))
        await transport.shutdown()
        await transport.shutdown()
        await #expect(throws: HTTPTransportError(.shutdown)) { try await transport.send(HTTPRequest(url: server.url)) }
        #expect(server.requests.count == 1)
    }

    @Test func shutdownBeforeTheFirstRequestReturnsAtOnce() async throws {
        let transport = try CurlTransport()
        await transport.shutdown()
        await #expect(throws: HTTPTransportError(.shutdown)) {
            try await transport.send(HTTPRequest(url: "http://127.0.0.1:1/"))
        }
    }

    @Test func manyShutdownsAtOnceAllReturn() async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try CurlTransport()
        await withTaskGroup { group in
            for number in 0..<60 {
                group.addTask {
                    if number % 3 == 0 {
                        await transport.shutdown()
                    } else {
                        _ = try? await transport.send(HTTPRequest(url: server.url))
                    }
                }
            }
        }
    }

    @Test func aTransportThatIsDroppedEndsItsThreadAndClosesItsConnections() async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        weak var engine: Engine?
        do {
            let transport = try CurlTransport()
            _ = try await transport.send(HTTPRequest(url: server.url))
            engine = transport.engine
        }
        await server.waitFor(.clientClosed(connection: 0))
        // The thread holds the engine for as long as it runs.
        while !Task.isCancelled, engine != nil { await Task.yield() }
    }

    @Test func connectionsAreClosedInPrograms() async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try CurlTransport()
        _ = try await transport.send(HTTPRequest(url: server.url))
        let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let connected = descriptors.filter { peerPort(of: $0) == server.port }
        #expect(!connected.isEmpty)
        #expect(connected.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
        await transport.shutdown()
    }

    private func peerPort(of descriptor: Int32) -> UInt16? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        return result == 0 ? UInt16(bigEndian: address.sin_port) : nil
    }
}
