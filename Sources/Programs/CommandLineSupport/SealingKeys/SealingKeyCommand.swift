import Basics
import Foundation
import Glibc
package import MobileToken
import PowerAuthClient
import PowerAuthCrypto
import Synchronization

/// A sealing key from a program's standard output: 32 bytes in Base64, on one line.
///
/// There is no shell: words are passed unchanged. The program has this process's environment, no input, and 30 seconds. Its other
/// output is discarded, so that it cannot reach a log. All users of the machine can see arguments, so put a PIN in the
/// environment or a file.
package struct SealingKeyCommand: SealingKeyProvider {
    /// The program and its arguments.
    private let words: [String]
    private let timeLimit: Duration

    package init(words: [String], timeLimit: Duration = .seconds(30)) {
        (self.words, self.timeLimit) = (words, timeLimit)
    }

    /// Runs the program. If the task is canceled, the program and its children are killed.
    ///
    /// - Throws: `storeSealingKeyMissing` if the program cannot be started, times out, has a nonzero exit status, or writes
    ///   anything but a key.
    package func sealingKey(isForNewStore: Bool) async throws -> SecretBytes {
        let run = Run()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                // Reading blocks, so it has its own thread.
                Thread.detachNewThread {
                    continuation.resume(with: Result { try run.key(from: self.words, within: self.timeLimit) })
                }
            }
        } onCancel: {
            run.cancel()
        }
    }
}

/// One run of a program.
private final class Run: Sendable {
    private struct State {
        /// The program's identifier, from its start until it was waited for, while the number is its own.
        var identifier: pid_t?
        var isCanceled = false

        /// Kills the program and its children.
        func kill() {
            if let identifier { _ = Glibc.kill(-identifier, SIGKILL) }
        }
    }

    /// Far more than a key with white space needs.
    private static let byteCountLimit = 1_024

    private let state = Mutex(State())

    func cancel() {
        self.state.withLock { state in
            state.isCanceled = true
            state.kill()
        }
    }

    func key(from words: [String], within limit: Duration) throws -> SecretBytes {
        let deadline = ContinuousClock.now + limit.bounded
        let name = words.first ?? ""
        let output = try self.start(words, name)
        defer { close(output) }
        do {
            var (count, status): (Int, CInt) = (0, 0)
            let bytes = try SecretBytes(count: Self.byteCountLimit) { buffer in
                (count, status) = try self.read(from: output, into: buffer, until: deadline, name)
            }
            guard status == 0 else { throw Self.noKey("The command '\(name)' ended with exit status \(status)") }
            let key = bytes.withUnsafeBytes { bytes in
                Base64.decodeSecret(UnsafeRawBufferPointer(rebasing: Self.trimmed(bytes.prefix(count))))
            }
            guard let key, key.count == Sealing.keyByteCount else {
                throw Self.noKey("What the command '\(name)' wrote is not Base64 of \(Sealing.keyByteCount) bytes")
            }
            return key
        } catch {
            throw self.abandon() ? CancellationError() : error
        }
    }

    /// Starts the program, and returns the reading end of its output pipe.
    private func start(_ words: [String], _ name: String) throws -> CInt {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw MobileTokenError.system("make a pipe for", name) }
        let (reading, writing) = (ends[0], ends[1])
        defer { close(writing) }
        // A program started concurrently by another thread inherits the pipe, so its end-of-file is meaningless.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(reading, F_SETFL, O_NONBLOCK)
        do {
            let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
            guard nothing >= 0 else { throw MobileTokenError.system("open", "/dev/null") }
            defer { close(nothing) }
            try self.state.withLock { state in
                guard !state.isCanceled else { throw CancellationError() }
                state.identifier = try Spawn.start(
                    words,
                    environment: Spawn.environment(),
                    descriptors: [(nothing, STDIN_FILENO), (writing, STDOUT_FILENO), (nothing, STDERR_FILENO)],
                    leadsGroup: true
                )
            }
        } catch {
            close(reading)
            guard let failure = error as? Spawn.Failure else { throw error }
            throw Self.noKey("The command '\(name)' cannot be started: \(failure.description)")
        }
        return reading
    }

    /// Reads until the program ends; its children may keep the pipe open longer.
    ///
    /// - Returns: The number of bytes, and the exit status.
    private func read(
        from output: CInt,
        into buffer: UnsafeMutableRawBufferPointer,
        until deadline: ContinuousClock.Instant,
        _ name: String
    ) throws -> (count: Int, status: CInt) {
        var count = 0
        while true {
            var status: CInt = 0
            let found = self.wait(&status, WNOHANG)
            guard found >= 0 else { throw MobileTokenError.system("wait for", name) }
            let isAtEnd = try self.drain(output, into: buffer, &count, name)
            if found > 0 { return (count, Spawn.exitStatus(status)) }
            guard ContinuousClock.now < deadline else {
                throw Self.noKey("The command '\(name)' did not end in time")
            }
            var waiting = pollfd(fd: isAtEnd ? -1 : output, events: Int16(POLLIN), revents: 0)
            poll(&waiting, 1, 5)
        }
    }

    /// Reads the available bytes, and returns whether the output has ended.
    private func drain(
        _ output: CInt,
        into buffer: UnsafeMutableRawBufferPointer,
        _ count: inout Int,
        _ name: String
    ) throws -> Bool {
        while true {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            guard !rest.isEmpty else {
                throw Self.noKey("The command '\(name)' wrote \(buffer.count) bytes or more, which is no key")
            }
            let got = Glibc.read(output, rest.baseAddress, rest.count)
            if got == 0 { return true }
            if got < 0, errno == EAGAIN { return false }
            guard got > 0 || errno == EINTR else { throw MobileTokenError.system("read the output of", name) }
            count += max(0, got)
        }
    }

    /// Kills the program and its children, unless it has ended.
    ///
    /// - Returns: `true` if the task was canceled.
    private func abandon() -> Bool {
        self.state.withLock { $0.kill() }
        var status: CInt = 0
        _ = self.wait(&status, 0)
        return self.state.withLock { $0.isCanceled }
    }

    private func wait(_ status: inout CInt, _ options: CInt) -> pid_t {
        self.state.withLock { state in
            guard let identifier = state.identifier else { return 0 }
            var found: pid_t
            repeat { found = waitpid(identifier, &status, options) } while found < 0 && errno == EINTR
            if found != 0 { state.identifier = nil }
            return found
        }
    }

    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        let isBlank: (UInt8) -> Bool = { " \t\r\n".utf8.contains($0) }
        let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? bytes.startIndex
        return bytes[..<end].drop(while: isBlank)
    }

    private static func noKey(_ message: String) -> MobileTokenError {
        MobileTokenError(.storeSealingKeyMissing, message)
    }
}
