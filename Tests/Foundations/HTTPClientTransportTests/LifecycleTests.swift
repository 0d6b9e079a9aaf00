import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import HTTPClientTransport

@Suite(.timeLimit(.minutes(5))) struct LifecycleTests {
    @Test func shutdownEndsEveryPendingCall() async throws {
        let server = try ScriptedServer { $0.waitForClose() }
        defer { server.stop() }
        let transport = try CurlTransport(configuration: altered(.init()) { $0.maximumRequestsPerHost = 5 })
        let calls = (0..<20).map { _ in Task { try await transport.send(HTTPRequest(url: server.url)) } }
        await server.waitFor(.accepted(connection: 4))
        await transport.shutdown()
        var codes: [HTTPTransportError.Code: Int] = [:]
        for call in calls {
            let error = await #expect(throws: HTTPTransportError.self) { try await call.value }
            if let error { codes[error.code, default: 0] += 1 }
        }
        // Five may have left.
        #expect(codes[.shutdown, default: 0] >= 15)
        #expect(codes[.shutdown, default: 0] + codes[.connectionLost, default: 0] == 20)
        for connection in 0..<5 { await server.waitFor(.clientClosed(connection: connection)) }
    }

    /// Too many threads for a moment, which is not the end of the transport.
    @Test func aThreadThatCannotBeStartedFailsOneCallAndNoOther() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.answer()
        }
        defer { server.stop() }
        let isFull = Mutex(true)
        let engine = try Engine(configuration: CurlTransport.Configuration()) { body in
            isFull.withLock { $0 } ? EAGAIN : Engine.startDetached(body)
        }
        let transport = CurlTransport(engine: engine)
        let error = await #expect(throws: HTTPTransportError.self) {
            try await transport.send(HTTPRequest(url: server.url))
        }
        #expect(error?.code == .connectionFailed)
        #expect(error?.detail == "no thread could be started: Resource temporarily unavailable")
        isFull.withLock { $0 = false }
        #expect(try await transport.send(HTTPRequest(url: server.url)).status == 200)
        await transport.shutdown()
    }

    /// The server has it, and may have carried it out: "nothing was sent" would be a lie.
    @Test func whatIsOnItsWayAtTheShutdownIsLost() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.reach("read")
            connection.waitForClose()
        }
        defer { server.stop() }
        let transport = try CurlTransport()
        let call = Task { try await transport.send(HTTPRequest(url: server.url)) }
        await server.waitFor(.reached(connection: 0, "read"))
        await transport.shutdown()
        let error = await #expect(throws: HTTPTransportError.self) { try await call.value }
        #expect(error?.code == .connectionLost)
        #expect(error?.detail.isEmpty == false)
    }

    @Test(arguments: [
        HTTPTransportError.Code.connectionFailed, .tlsFailed, .shutdown, .tooLate, .invalidRequest,
        .invalidConfiguration,
    ])
    func afterTheFirstByteNothingSaysThatNothingWasSent(code: HTTPTransportError.Code) {
        #expect(HTTPTransportError(code, detail: "Out of memory").afterFirstByte.code == .connectionLost)
        #expect(HTTPTransportError(.timeout).afterFirstByte.code == .timeout)
        #expect(HTTPTransportError(.responseTooLarge, httpStatus: 413).afterFirstByte.httpStatus == 413)
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
