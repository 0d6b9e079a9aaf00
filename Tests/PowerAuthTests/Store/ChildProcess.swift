import Foundation
import Glibc

/// A `StoreExerciser` that runs beside the test.
struct ChildProcess: Sendable {
    /// How it ended, and the lines it wrote.
    struct Outcome: Sendable {
        let wasKilled: Bool
        let output: [String]
    }

    /// Runs to its end.
    static func run(_ arguments: String...) async throws -> Outcome {
        try await Self.run(arguments)
    }

    /// Runs to its end, or to its being killed when a line of its output says so.
    static func run(_ arguments: [String], killAtLine line: String? = nil) async throws -> Outcome {
        let process = Process()
        process.executableURL = Self.exerciser
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()

        // A thread of its own may block: on the output, and then for the end.
        let (lines, written) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            var text = Data()
            while let next = try? pipe.fileHandleForReading.read(upToCount: 1), !next.isEmpty {
                guard next != Data("\n".utf8) else {
                    written.yield(String(decoding: text, as: UTF8.self))
                    text = Data()
                    continue
                }
                text += next
            }
            process.waitUntilExit()
            written.finish()
        }
        var output: [String] = []
        for await text in lines {
            output.append(text)
            if text == line { kill(process.processIdentifier, SIGKILL) }
        }
        return Outcome(wasKilled: process.terminationReason == .uncaughtSignal, output: output)
    }

    /// Lies beside the test bundle.
    private static var exerciser: URL {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: "StoreExerciser")
    }
}
