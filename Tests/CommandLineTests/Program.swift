import Foundation
import Synchronization

/// The built `mobile-token` program, run as a process of its own.
final class Program: Sendable {
    /// What a finished run left behind.
    struct Outcome: Sendable {
        let exitCode: Int32
        let output: String
        let errors: String
    }

    private let process: Process
    private let input: FileHandle
    private let outputLines: LineReader
    private let errorLines: LineReader
    private let exit: AsyncStream<Int32>

    /// Starts the program. It sees no configuration of the user who runs the tests.
    init(_ words: [String], home: URL, environment: [String: String] = [:]) throws {
        let process = Process()
        process.executableURL = try Self.executable
        process.arguments = words
        process.environment = ["HOME": home.path, "MOBILE_TOKEN_HOME": home.path, "PATH": "/usr/bin:/bin"]
            .merging(environment) { $1 }
        let (input, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        let (exit, exited) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            exited.yield(process.terminationStatus)
            exited.finish()
        }
        self.process = process
        self.input = input.fileHandleForWriting
        self.outputLines = LineReader(output.fileHandleForReading)
        self.errorLines = LineReader(errors.fileHandleForReading)
        self.exit = exit
        try process.run()
    }

    /// Runs the program to its end.
    static func run(
        _ words: String...,
        home: URL,
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> Outcome {
        let program = try Program(words, home: home, environment: environment)
        program.write(input)
        program.closeInput()
        return await program.outcome()
    }

    func write(_ text: String) { self.input.write(Data(text.utf8)) }

    func closeInput() { try? self.input.close() }

    func send(signal: Int32) { kill(self.process.processIdentifier, signal) }

    /// The next line of standard output that satisfies a condition; `nil` when the output ends first.
    func nextLine(where condition: @Sendable (String) -> Bool = { _ in true }) async -> String? {
        for await line in self.outputLines.lines where condition(line) { return line }
        return nil
    }

    /// Waits for the end.
    func outcome() async -> Outcome {
        let output = await self.outputLines.text()
        let errors = await self.errorLines.text()
        let code = await self.exit.first { _ in true } ?? -1
        return Outcome(exitCode: code, output: output, errors: errors)
    }

    /// The program lies beside the test bundle.
    private static var executable: URL {
        get throws {
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(filePath: tests).deletingLastPathComponent().appending(path: "mobile-token")
        }
    }
}

/// Reads a pipe to its end on a thread of Foundation's, so that the program never blocks on a full pipe.
private final class LineReader: Sendable {
    let lines: AsyncStream<String>
    private let state = Mutex<(all: [UInt8], line: [UInt8])>(([], []))
    private let end: AsyncStream<Void>

    init(_ handle: FileHandle) {
        let (lines, sink) = AsyncStream.makeStream(of: String.self)
        let (end, ended) = AsyncStream.makeStream(of: Void.self)
        self.lines = lines
        self.end = end
        handle.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            guard let self, !data.isEmpty else {
                handle.readabilityHandler = nil
                sink.finish()
                ended.finish()
                return
            }
            let complete = self.state.withLock { state in
                var complete: [String] = []
                for byte in data {
                    state.all.append(byte)
                    if byte == UInt8(ascii: "\n") {
                        complete.append(String(decoding: state.line, as: UTF8.self))
                        state.line.removeAll()
                    } else {
                        state.line.append(byte)
                    }
                }
                return complete
            }
            for line in complete { sink.yield(line) }
        }
    }

    /// Everything that was written, once the pipe is closed.
    func text() async -> String {
        for await _ in self.end {}
        return self.state.withLock { String(decoding: $0.all, as: UTF8.self) }
    }
}
