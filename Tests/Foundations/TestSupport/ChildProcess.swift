import Foundation
import Glibc
import Synchronization

/// A program that runs beside the test, with pipes for its standard input, output and errors. It is killed with its owner.
///
/// Foundation's `Process` would not do: it passes on the signals that the starting thread blocks, so that a program may not
/// heed one that it is sent, and its pipes leak into programs that other tests start at the same moment, each of which
/// would wait for the other's end.
package final class ChildProcess: Sendable {
    /// The end of the program, and its output.
    package struct Outcome: Sendable {
        package let outputBytes: [UInt8]
        package let errors: String
        /// For a program that a signal ended, the negative number of the signal.
        package let exitCode: Int32

        package var output: String { String(decoding: self.outputBytes, as: UTF8.self) }
        package var lines: [String] { self.output.split(separator: "\n").map(String.init) }
        package var wasKilled: Bool { self.exitCode == -SIGKILL }
    }

    private let identity: Identity
    private let input: Mutex<FileHandle?>
    private let outputLines: AsyncStream<String>
    private let errorLines: AsyncStream<String>
    private let end: Task<Outcome, Never>

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: A path, or a name that is looked for in `PATH`.
    ///   - environment: Takes the place of this process's own.
    package init(_ program: String, _ arguments: [String] = [], environment: [String: String]? = nil) throws {
        let (input, output, errors): (Pipe, Pipe, Pipe)
        let variables = (environment ?? ProcessInfo.processInfo.environment).map { "\($0.key)=\($0.value)" }
        // One at a time: a pipe is inherited by whatever starts in the moment before it is marked as closed-on-exec.
        (self.identity, input, output, errors) = try Self.starting.withLock { _ in
            let (input, output, errors) = (try Pipe(), try Pipe(), try Pipe())
            let identifier = try Self.spawn(
                program,
                arguments,
                variables,
                descriptors: [input.reading, output.writing, errors.writing].map(\.fileDescriptor)
            )
            return (Identity(identifier), input, output, errors)
        }
        for end in [input.reading, output.writing, errors.writing] { try end.close() }

        let (lines, line) = AsyncStream.makeStream(of: String.self)
        let (complaints, complaint) = AsyncStream.makeStream(of: String.self)
        self.outputLines = lines
        self.errorLines = complaints
        self.input = Mutex(input.writing)
        self.end = Task { [identity] in
            async let written = Self.read(output.reading, line)
            async let complaints = Self.read(errors.reading, complaint)
            return Outcome(
                outputBytes: await written,
                errors: String(decoding: await complaints, as: UTF8.self),
                exitCode: await Self.onThread { identity.waitForEnd() }
            )
        }
    }

    private static let starting = Mutex(())

    deinit { self.identity.send(SIGKILL) }

    package static func run(
        _ program: String,
        _ arguments: [String],
        environment: [String: String]? = nil,
        input: String = ""
    ) async throws -> Outcome {
        let process = try ChildProcess(program, arguments, environment: environment)
        process.write(input)
        return await process.outcome()
    }

    /// An executable of this package, which lies beside the test bundle.
    package static func besideTests(_ name: String) throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(filePath: tests).deletingLastPathComponent().appending(path: name).path
    }

    /// Writes to its standard input; in vain when it has closed that, or has ended.
    package func write(_ text: String) {
        self.input.withLock { try? $0?.write(contentsOf: Data(text.utf8)) }
    }

    /// Does nothing when it has ended.
    package func send(signal: Int32) { self.identity.send(signal) }

    /// The next line of its standard output; `nil` when the output ends first.
    package func nextLine() async -> String? {
        await self.outputLines.first { _ in true }
    }

    /// The next line of its standard error; `nil` when that ends first.
    package func nextErrorLine() async -> String? {
        await self.errorLines.first { _ in true }
    }

    /// Closes its standard input and waits for its end. A test that is cancelled kills it.
    package func outcome() async -> Outcome {
        self.input.withLock { $0 = nil }
        return await withTaskCancellationHandler {
            await self.end.value
        } onCancel: {
            self.identity.send(SIGKILL)
        }
    }
}

// MARK: - What the system sees

extension ChildProcess {
    /// A process identifier for as long as it is this child's.
    private final class Identity: Sendable {
        private let identifier: pid_t
        private let hasEnded = Mutex(false)

        init(_ identifier: pid_t) { self.identifier = identifier }

        func send(_ signal: Int32) {
            self.hasEnded.withLock { hasEnded in
                if !hasEnded { _ = kill(self.identifier, signal) }
            }
        }

        /// Blocks. Returns the exit code, or the negative number of the signal that ended it.
        func waitForEnd() -> Int32 {
            var information = siginfo_t()
            // Not reaped before nobody can signal it any more: its number may be given away at once.
            while waitid(P_PID, id_t(self.identifier), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
            return self.hasEnded.withLock { hasEnded in
                hasEnded = true
                var status: Int32 = 0
                waitpid(self.identifier, &status, 0)
                return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
            }
        }
    }

    /// Its ends are closed with it.
    private struct Pipe {
        let reading: FileHandle
        let writing: FileHandle

        init() throws {
            _ = Self.brokenPipesAreErrors
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            self.reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
            self.writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        }

        /// Writing to a program that has ended must not end the tests.
        private static let brokenPipesAreErrors: Void = {
            signal(SIGPIPE, SIG_IGN)
        }()
    }

    /// Starts a program with these descriptors as its first, and every signal as a shell would leave it.
    private static func spawn(
        _ program: String,
        _ arguments: [String],
        _ environment: [String],
        descriptors: [Int32]
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
        }

        var attributes = SpawnAttributes()
        var identifier: pid_t = 0
        let failure = self.withPointers([program] + arguments) { words in
            self.withPointers(environment) { environment in
                posix_spawnp(&identifier, program, &actions, &attributes.raw, words, environment)
            }
        }
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .ENOENT) }
        return identifier
    }

    /// Lends texts as the null-terminated array that C calls take.
    private static func withPointers<Result>(
        _ texts: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = texts.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }

    /// Reads a pipe to its end, and closes it; hands out the lines as they come.
    private static func read(_ pipe: FileHandle, _ line: AsyncStream<String>.Continuation) async -> [UInt8] {
        await self.onThread {
            var all: [UInt8] = []
            var lineStart = 0
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = Glibc.read(pipe.fileDescriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                all += buffer[..<count]
                while let newline = all[lineStart...].firstIndex(of: UInt8(ascii: "\n")) {
                    line.yield(String(decoding: all[lineStart..<newline], as: UTF8.self))
                    lineStart = newline + 1
                }
            }
            try? pipe.close()
            line.finish()
            return all
        }
    }

    /// Does what blocks on a thread of its own.
    private static func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }
}
