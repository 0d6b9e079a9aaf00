import Basics
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
    ///   - closesOthers: Whether it gets the standard descriptors only. libcurl does not mark all of its own.
    package static func run(
        _ words: [String],
        environment: [String: String] = [:],
        removing removed: Set<String> = [],
        input: FileHandle? = nil,
        closesOthers: Bool = false
    ) async throws -> ExitCode {
        if closesOthers { self.keepDescriptors() }
        let inherited = ProcessInfo.processInfo.environment.filter { !removed.contains($0.key) }
        let merged = inherited.merging(environment) { $1 }
        let identifier: pid_t
        do {
            identifier = try Spawn.start(
                words,
                environment: merged.map { "\($0.key)=\($0.value)" },
                descriptors: input.map { [(own: $0.fileDescriptor, its: STDIN_FILENO)] } ?? []
            )
        } catch {
            throw UsageError(message: "cannot start '\(words.first ?? "")': \(error.description)")
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Waiting blocks, so it has a thread of its own.
                Thread.detachNewThread { continuation.resume(returning: self.waitForEnd(of: identifier)) }
            }
        } onCancel: {
            kill(identifier, SIGTERM)
        }
    }

    /// Marks what this process has open, but for the standard descriptors, as its own.
    private static func keepDescriptors() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        for descriptor in names.compactMap({ CInt($0) }) where descriptor > STDERR_FILENO {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    private static func waitForEnd(of identifier: pid_t) -> ExitCode {
        var status: CInt = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        return ExitCode(rawValue: Spawn.exitStatus(status))
    }
}
