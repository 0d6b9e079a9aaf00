package import Foundation
import Synchronization

/// A child process on the same terminal.
package enum ChildProcess {
    /// Runs a command, and returns its exit status: 128 plus the number of a fatal signal, as in shells.
    ///
    /// If the task is canceled, this program's signal is forwarded to the command once, and the call waits for its end.
    ///
    /// - Parameters:
    ///   - environment: Variables that are added to this program's environment.
    ///   - removed: Environment variables to remove.
    ///   - input: Its standard input; by default this program's.
    ///   - descriptors: Descriptors of this program that it inherits with the same numbers.
    /// - Throws: ``UsageError`` if it was not started.
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
                // Waiting blocks, so it has its own thread.
                Thread.detachNewThread { continuation.resume(returning: self.waitForEnd(of: identifier)) }
            }
        } onCancel: {
            let number = TerminationSignals.received.load(ordering: .acquiring)
            // A terminal sends SIGINT to all foreground processes, so the command already has it.
            guard number != SIGINT || tcgetpgrp(STDIN_FILENO) != getpgrp() else { return }
            kill(identifier, number == 0 ? SIGTERM : number)
        }
    }

    /// The descriptors that this program inherited, for its commands too. Must be read before anything is opened.
    static let inheritedDescriptors = openDescriptors

    private static var openDescriptors: Set<CInt> {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        // The list's own descriptor is already closed.
        return Set(names.compactMap { CInt($0) }.filter { fcntl($0, F_GETFD) >= 0 })
    }

    /// Sets close-on-exec for this program's descriptors, because libcurl does not always do so.
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
