import Basics
package import Foundation
import Synchronization

/// A command that runs beside this program, on the same terminal.
package enum ChildProcess {
    /// Runs a command to its end, and returns its exit status: 128 and the signal when one killed it, as shells do.
    ///
    /// When the task is canceled, the command gets the signal that this program got, once, and the call waits for its end.
    ///
    /// - Parameters:
    ///   - environment: Variables that are added to this program's environment.
    ///   - removed: The names of what the command gets none of, whatever this program has.
    ///   - input: Its standard input, if that is not this program's.
    ///   - descriptors: The descriptors of this program that it gets under the same numbers.
    /// - Throws: ``UsageError`` when it was not started.
    package static func run(
        _ words: [String],
        environment: [String: String] = [:],
        removing removed: Set<String> = [],
        input: FileHandle? = nil,
        sharing descriptors: [CInt] = []
    ) async throws -> ExitCode {
        self.keepDescriptors()
        let identifier: pid_t
        do {
            identifier = try Spawn.start(
                words,
                environment: Spawn.environment(removing: removed, adding: environment),
                descriptors: (input.map { [(own: $0.fileDescriptor, its: STDIN_FILENO)] } ?? [])
                    + descriptors.map { (own: $0, its: $0) }
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
            let number = TerminationSignals.received.load(ordering: .acquiring)
            // A terminal sends SIGINT to all programs in its foreground: this one's commands have it already.
            guard number != SIGINT || tcgetpgrp(STDIN_FILENO) != getpgrp() else { return }
            kill(identifier, number == 0 ? SIGTERM : number)
        }
    }

    /// The descriptors that the caller handed to this program, for its commands too. Must be read before anything is opened.
    static let inheritedDescriptors = openDescriptors

    private static var openDescriptors: Set<CInt> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        // That of the list itself is closed by now.
        return Set(names.compactMap { CInt($0) }.filter { fcntl($0, F_GETFD) >= 0 })
    }

    /// Marks what this program has opened as its own. libcurl does not do so with all that it opens.
    private static func keepDescriptors() {
        for descriptor in self.openDescriptors.subtracting(self.inheritedDescriptors) {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
    }

    private static func waitForEnd(of identifier: pid_t) -> ExitCode {
        var status: CInt = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        return ExitCode(rawValue: Spawn.exitStatus(status))
    }
}
