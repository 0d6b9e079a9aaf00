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

    private let identifier: pid_t
    private let input: Mutex<FileHandle?>
    private let output: PipeReader
    private let errors: PipeReader

    /// Starts the program. It sees no configuration of the user who runs the tests.
    ///
    /// Not with Foundation's `Process`: its pipes leak into programs that other tests start at the same moment, and each
    /// would wait for the other's end.
    init(_ words: [String], home: URL, environment: [String: String] = [:]) throws {
        let program = try Self.executable
        let variables = ["HOME": home.path, "MOBILE_TOKEN_HOME": home.path, "PATH": "/usr/bin:/bin"]
            .merging(environment) { $1 }
        let (input, output, errors) = (try Pipe(), try Pipe(), try Pipe())
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input.reading, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output.writing, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors.writing, STDERR_FILENO)

        var identifier: pid_t = 0
        let failure = withPointers([program] + words) { words in
            withPointers(variables.map { "\($0.key)=\($0.value)" }) { variables in
                posix_spawn(&identifier, program, &actions, nil, words, variables)
            }
        }
        for end in [input.reading, output.writing, errors.writing] { close(end) }
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .ENOENT) }
        self.identifier = identifier
        self.input = Mutex(FileHandle(fileDescriptor: input.writing, closeOnDealloc: true))
        self.output = PipeReader(output.reading)
        self.errors = PipeReader(errors.reading)
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
        return await program.outcome()
    }

    func write(_ text: String) {
        self.input.withLock { $0?.write(Data(text.utf8)) }
    }

    func send(signal: Int32) { kill(self.identifier, signal) }

    /// The next line of standard output; `nil` when the output ends first.
    func nextLine() async -> String? {
        await self.output.lines.first { _ in true }
    }

    /// Closes its input and waits for the end.
    func outcome() async -> Outcome {
        self.input.withLock { $0 = nil }
        let output = await self.output.text()
        let errors = await self.errors.text()
        let identifier = self.identifier
        let status = await onThread {
            var status: CInt = 0
            while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
            return status
        }
        return Outcome(
            exitCode: status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F),
            output: output,
            errors: errors
        )
    }

    /// The program lies beside the test bundle.
    private static var executable: String {
        get throws {
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(filePath: tests).deletingLastPathComponent().appending(path: "mobile-token").path
        }
    }
}

/// The two ends of a pipe, neither of which is passed on to programs by accident.
private struct Pipe {
    let reading: CInt
    let writing: CInt

    init() throws {
        var ends: [CInt] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw POSIXError(.EMFILE) }
        (self.reading, self.writing) = (ends[0], ends[1])
    }
}

/// Reads a pipe to its end on a thread of its own, so that the program never blocks on a full pipe.
private final class PipeReader: Sendable {
    let lines: AsyncStream<String>
    private let end: AsyncStream<String>

    init(_ descriptor: CInt) {
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        let (end, ended) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        self.end = end
        Thread.detachNewThread {
            var (all, rest): ([UInt8], [UInt8]) = ([], [])
            var buffer = [UInt8](repeating: 0, count: 4096)
            while case let count = read(descriptor, &buffer, buffer.count), count > 0 || (count < 0 && errno == EINTR) {
                guard count > 0 else { continue }
                all += buffer[..<count]
                rest += buffer[..<count]
                while let newline = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    line.yield(String(decoding: rest[..<newline], as: UTF8.self))
                    rest.removeSubrange(...newline)
                }
            }
            close(descriptor)
            line.finish()
            ended.yield(String(decoding: all, as: UTF8.self))
            ended.finish()
        }
    }

    /// Everything that was written, once the pipe is closed.
    func text() async -> String { await self.end.first { _ in true } ?? "" }
}

private func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}

private func withPointers<Result>(
    _ texts: [String],
    _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
) -> Result {
    let pointers = texts.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    return body(pointers + [nil])
}
