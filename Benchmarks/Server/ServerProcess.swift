import Foundation

/// This program, started once more as a ``StaticServer``.
final class ServerProcess: Sendable {
    struct NotStarted: Error {}

    let baseURL: String
    /// The address of the list of operations; any other is answered alike.
    var url: String { "\(self.baseURL)/api/auth/token/app/operation/list" }
    private let process: Process
    private let input: Pipe

    /// Returns once the server listens.
    init(answer: [UInt8]? = nil) throws {
        let process = Process()
        let input = Pipe()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [StaticServer.subcommand]
        if let answer {
            let file = FileManager.default.temporaryDirectory.appending(path: "answer-\(UUID().uuidString)")
            try Data(answer).write(to: file)
            process.arguments?.append(file.path)
        }
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = UInt16(line.trimmingCharacters(in: .newlines)) else { throw NotStarted() }
        if answer != nil, let file = process.arguments?.last { try FileManager.default.removeItem(atPath: file) }
        self.process = process
        self.input = input
        self.baseURL = "http://127.0.0.1:\(port)"
    }

    func stop() {
        // Not a signal: the server may have inherited a mask that blocks it. It ends with its standard input.
        try? self.input.fileHandleForWriting.close()
        self.process.waitUntilExit()
    }
}
