package import Foundation

/// A command that runs beside this program, on the same terminal.
package enum ChildProcess {
    /// Runs a command to its end, and returns its exit status: 128 and the signal when one killed it, as shells do.
    ///
    /// When the task is canceled, the command gets SIGTERM, and the call waits for its end.
    ///
    /// - Parameters:
    ///   - environment: What is added to this program's.
    ///   - removed: The names of what the command gets none of, whatever this program has.
    ///   - input: Its standard input, if that is not this program's.
    package static func run(
        _ words: [String],
        environment: [String: String] = [:],
        removing removed: Set<String> = [],
        input: FileHandle? = nil
    ) async throws -> ExitCode {
        let inherited = ProcessInfo.processInfo.environment.filter { !removed.contains($0.key) }
        let merged = inherited.merging(environment) { $1 }
        let identifier = try self.spawn(words, environment: merged.map { "\($0.key)=\($0.value)" }, input: input)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Waiting blocks, so it has a thread of its own.
                Thread.detachNewThread { continuation.resume(returning: self.waitForEnd(of: identifier)) }
            }
        } onCancel: {
            kill(identifier, SIGTERM)
        }
    }

    /// Starts the command with the default handling of all signals, as a shell does.
    ///
    /// With Foundation's `Process` it would inherit the signal mask of the calling thread and the signals that this program
    /// ignores, and could be neither interrupted nor terminated.
    private static func spawn(_ words: [String], environment: [String], input: FileHandle?) throws -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let input { posix_spawn_file_actions_adddup2(&actions, input.fileDescriptor, STDIN_FILENO) }

        guard let program = words.first else { throw UsageError(message: "no command to run") }
        var identifier: pid_t = 0
        let failure = self.withPointers(words) { words in
            self.withPointers(environment) { environment in
                posix_spawnp(&identifier, program, &actions, &attributes, words, environment)
            }
        }
        guard failure == 0 else {
            throw UsageError(message: "cannot start '\(program)': \(String(cString: strerror(failure)))")
        }
        return identifier
    }

    private static func waitForEnd(of identifier: pid_t) -> ExitCode {
        var status: CInt = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return ExitCode(rawValue: signal == 0 ? (status >> 8) & 0xFF : 128 + signal)
    }

    /// Lends strings to `body` as the null-terminated array that C functions take.
    private static func withPointers<Result>(
        _ strings: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = strings.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}
