import Foundation

/// This program, started once more as a server: its time is not taken for the client's.
final class ServerProcess: Sendable {
    struct NotStarted: Error {}

    /// The line with which the server told how to reach it.
    let greeting: String
    private let process: Process
    private let input: Pipe

    /// Returns once the server listens.
    init(_ arguments: [String]) throws {
        let process = Process()
        let input = Pipe()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw NotStarted() }
            line += data
        }
        self.greeting = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)
        self.process = process
        self.input = input
    }

    /// The processor time that it has used so far; see ``Measurement/processorNanoseconds``.
    var processorNanoseconds: Double {
        get throws { try Measurement.processorNanoseconds(ofProcess: self.process.processIdentifier) }
    }

    func stop() {
        // Not a signal: the server may have inherited a mask that blocks it. It ends with its standard input.
        try? self.input.fileHandleForWriting.close()
        self.process.waitUntilExit()
    }
}

/// A ``StaticServer`` in a process of its own.
struct StaticServerProcess: Sendable {
    let baseURL: String
    /// The address of the list of operations; any other is answered alike.
    var url: String { "\(self.baseURL)/api/auth/token/app/operation/list" }
    private let process: ServerProcess

    /// - Parameter answers: The bodies of answers, by turns; without any, a short JSON object.
    init(_ answers: [[UInt8]] = []) throws {
        let files = answers.map { _ in
            FileManager.default.temporaryDirectory.appending(path: "answer-\(UUID().uuidString)")
        }
        defer { for file in files { try? FileManager.default.removeItem(at: file) } }
        for (file, answer) in zip(files, answers) { try Data(answer).write(to: file) }
        self.process = try ServerProcess([StaticServer.subcommand] + files.map(\.path))
        guard let port = UInt16(self.process.greeting) else { throw ServerProcess.NotStarted() }
        self.baseURL = "http://127.0.0.1:\(port)"
    }

    func stop() { self.process.stop() }
}
