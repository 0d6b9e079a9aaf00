import TestSupport
import Foundation
import HTTPClientTransport
import Testing

/// Runs a program to its end and returns what it wrote.
@discardableResult func run(_ program: String, _ arguments: [String]) async throws -> [UInt8] {
    let outcome = try await ChildProcess.run(program, arguments)
    try #require(outcome.exitCode == 0, "\(program) \(arguments) failed: \(outcome.errors)")
    return outcome.outputBytes
}

/// Cancels many calls, each a moment later than the one before: whichever comes first, the response or the cancellation, a call
/// ends, and exactly once; the transport goes on.
func expectThatEveryCallEnds(of transport: any HTTPTransport, at url: String, count: Int) async throws {
    let ended = await withTaskGroup { group in
        for number in 0..<count {
            group.addTask {
                let task = Task { try await transport.send(HTTPRequest(url: url, body: [1])) }
                for _ in 0..<number % 40 { await Task.yield() }
                task.cancel()
                switch await task.result {
                case .success(let response): return response.status == 200
                case .failure(let error): return error is CancellationError
                }
            }
        }
        return await group.reduce(into: 0) { count, isExpected in count += isExpected ? 1 : 0 }
    }
    #expect(ended == count)
    #expect(try await transport.send(HTTPRequest(url: url, body: [1])).status == 200)
}

/// Holds scripts, on their threads, until as many as are awaited have come.
final class ThreadGate: Sendable {
    private let condition = NSCondition()
    private let missing: Shared<Int>

    init(opensAfter count: Int = 1) { self.missing = Shared(count) }

    /// Says that one more has come.
    func arrive() {
        self.condition.lock()
        self.missing.update { $0 -= 1 }
        self.condition.broadcast()
        self.condition.unlock()
    }

    /// Blocks the calling thread until all have come.
    func wait() {
        self.condition.lock()
        while self.missing.value > 0 { self.condition.wait() }
        self.condition.unlock()
    }
}

/// A listener whose queue is full, so that a connection to it stays half open.
final class BlockedListener: Sendable {
    let port: UInt16
    private let descriptors: [Int32]
    /// The number of our own connections, which fill the queue, that are half open themselves.
    private let ownKnocks: Int

    init() throws {
        let (listener, port) = try ScriptedServer.listen(backlog: 0)
        var descriptors = [listener]
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        for _ in 0..<2 {
            let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            let descriptor = socket(AF_INET, type, 0)
            descriptors.append(descriptor)
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        self.port = port
        self.descriptors = descriptors
        self.ownKnocks = try Self.knocks(at: port)
    }

    deinit { for descriptor in self.descriptors { close(descriptor) } }

    var url: String { "http://127.0.0.1:\(self.port)/" }

    /// Returns once as many more connections as `count` knock at the door.
    func waitForKnocks(_ count: Int) async throws {
        while !Task.isCancelled, try Self.knocks(at: self.port) < self.ownKnocks + count { await Task.yield() }
    }

    private static func knocks(at port: UInt16) throws -> Int {
        try KernelSockets.count(connectionsTo: port, state: .connecting)
    }
}

/// The kernel's table of this process's connections.
enum KernelSockets {
    enum State: String {
        case established = "01"
        case connecting = "02"
    }

    static func count(connectionsTo port: UInt16, state: State) throws -> Int {
        // The remote address and its port in hexadecimal, then the state: not to be taken for the two addresses of a
        // server's side, of which the second begins with 01 too.
        let remote = String(format: "0100007F:%04X ", Int(port)) + state.rawValue + " "
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/net/tcp"))
        let table = try file.readToEnd() ?? Data()
        let lines = String(decoding: table, as: UTF8.self).split(separator: "\n").filter { $0.contains(remote) }
        // A busy kernel shows a connection again when its table moves while it is read: they are told apart by their own
        // address, in front of the remote one.
        return Set(lines.map { $0.split(separator: " ").dropFirst().first }).count
    }

    /// Returns once the client's side of every connection to the port has learned that it is over.
    static func waitUntilNothingIsConnected(to port: UInt16) async throws {
        while !Task.isCancelled, try self.count(connectionsTo: port, state: .established) > 0 { await Task.yield() }
    }
}
