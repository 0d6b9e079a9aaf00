internal import Foundation

/// A command that runs beside the development server, on the same terminal.
enum ChildProcess {
    /// Runs a command to its end, and returns its exit status: 128 and the signal when one killed it, as shells do.
    ///
    /// When the calling task is cancelled the command is asked to end, and is waited for.
    static func run(_ words: [String], environment: [String: String]) async throws -> ExitCode {
        let process = Process()
        // `env` finds the program on the PATH and becomes it.
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["--"] + words
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (ended, end) = AsyncStream.makeStream(of: ExitCode.self)
        process.terminationHandler = { process in
            let status = process.terminationStatus
            end.yield(ExitCode(rawValue: process.terminationReason == .uncaughtSignal ? 128 + status : status))
        }
        do {
            try process.run()
        } catch {
            throw UsageError(message: "cannot start '\(words.first ?? "")'")
        }
        let identifier = process.processIdentifier
        return await withTaskCancellationHandler {
            // In a task of its own: the wait for the end outlives the cancellation that asks for it.
            await Task { await ended.first { _ in true } ?? .refused }.value
        } onCancel: {
            kill(identifier, SIGTERM)
        }
    }
}
