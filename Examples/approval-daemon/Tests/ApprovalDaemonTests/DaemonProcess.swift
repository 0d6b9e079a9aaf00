import ExactJSON
import Foundation
import MobileToken
import Synchronization
import Testing

/// The program, and what it writes to standard error. It is killed with its owner.
final class DaemonProcess: Sendable {
    private let process = Process()
    private let lines: AsyncStream<String>
    private let written = WrittenLines()
    private let reading: Task<Void, Never>

    private final class WrittenLines: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { self.lines.withLock { $0.append(line) } }
        var text: String { self.lines.withLock { $0.joined(separator: "\n") } }
    }

    /// - Parameter user: The user that runs it, as the README tells root to do; `nil` is the user of the tests.
    init(_ arguments: [String], _ environment: [String: String] = [:], user: String? = nil) throws {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let pipe = Pipe()
        let program = URL(filePath: tests).deletingLastPathComponent().appending(path: "approval-daemon")
        self.process.executableURL = user == nil ? program : URL(filePath: "/usr/sbin/runuser")
        self.process.arguments = (user.map { ["-u", $0, "--", program.path] } ?? []) + arguments
        self.process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
        self.process.standardError = pipe
        self.process.standardOutput = FileHandle.nullDevice
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        self.reading = Task { [written] in
            for await text in Self.lines(of: pipe.fileHandleForReading) {
                written.add(text)
                line.yield(text)
            }
            line.finish()
        }
        try self.process.run()
    }

    deinit { if self.process.isRunning { kill(self.process.processIdentifier, SIGKILL) } }

    /// Reads on a thread of its own, since that blocks.
    private static func lines(of file: FileHandle) -> AsyncStream<String> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                var rest: [UInt8] = []
                while case let data = file.availableData, !data.isEmpty {
                    rest += data
                    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                        continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
                        rest.removeSubrange(...end)
                    }
                }
                continuation.finish()
            }
        }
    }

    /// The next line that it writes; `nil` when it has ended.
    func nextLine() async -> String? { await self.lines.first { _ in true } }

    /// Waits for a line with this text.
    func waitForLine(with text: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        while let line = await self.nextLine() { if line.contains(text) { return } }
        Issue.record("it ended: \(self.log)", sourceLocation: sourceLocation)
    }

    /// Returns the address of the health endpoint from the daemon's own log.
    func statusURL() async throws -> String {
        var url: String?
        while url == nil, let line = await self.nextLine() { url = try JSONValue(parsing: line)["status"]?.string }
        return try #require(url, "it ended: \(self.log)")
    }

    /// Everything that it wrote, once it has ended.
    var log: String { self.written.text }

    func send(_ signal: Int32) { kill(self.process.processIdentifier, signal) }

    func exitStatus() async -> Int32 {
        await withTaskCancellationHandler {
            await self.reading.value
            await withCheckedContinuation { (ended: CheckedContinuation<Void, Never>) in
                Thread.detachNewThread {
                    self.process.waitUntilExit()
                    ended.resume()
                }
            }
        } onCancel: {
            self.send(SIGKILL)
        }
        return self.process.terminationReason == .exit ? self.process.terminationStatus : -1
    }
}
