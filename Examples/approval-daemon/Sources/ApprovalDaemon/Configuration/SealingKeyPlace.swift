import Foundation
import MobileToken

/// The place of a sealing key, as `store.sealingKey` names it: `file:PATH`, `env:NAME` or `command:PROGRAM ARGUMENT…`.
///
/// The words of a command are apart by spaces, without quotes, and no shell reads them.
enum SealingKeyPlace: SealingKeyProvider, Equatable {
    case file(String)
    case environment(String)
    case command([String])

    /// Reads a place; `nil` for a string that names none.
    init?(_ string: String) {
        let parts = string.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[1].isEmpty, !string.utf8.contains(0) else { return nil }
        switch parts[0] {
        case "file": self = .file(parts[1])
        case "env" where !parts[1].contains("="): self = .environment(parts[1])
        case "command":
            let words = parts[1].split(separator: " ").map(String.init)
            guard !words.isEmpty else { return nil }
            self = .command(words)
        default: return nil
        }
    }

    func sealingKey(isForNewStore: Bool) async throws -> SecretBytes {
        switch self {
        case .file(let path): try await SealingKey.file(path).sealingKey(isForNewStore: isForNewStore)
        case .environment(let name):
            try await SealingKey.environment(name).sealingKey(isForNewStore: isForNewStore)
        case .command(let words): try await KeyProgram(words).key()
        }
    }
}

/// A program that writes a sealing key to its standard output: 32 bytes in Base64, within 30 seconds.
private struct KeyProgram {
    private let words: [String]

    init(_ words: [String]) { self.words = words }

    func key() async throws -> SecretBytes {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")  // looks the program up in `PATH`
        process.arguments = ["--"] + self.words
        let output = Pipe()
        (process.standardInput, process.standardOutput) = (FileHandle.nullDevice, output)
        process.standardError = FileHandle.nullDevice  // its words must not get into the log
        return try await withCheckedThrowingContinuation { continuation in
            // Reading blocks, so it has a thread of its own.
            Thread.detachNewThread { continuation.resume(with: Result { try self.run(process, output) }) }
        }
    }

    private func run(_ process: Process, _ output: Pipe) throws -> SecretBytes {
        do {
            try process.run()
        } catch {
            throw self.failure("cannot be started")
        }
        let timer = DispatchSource.makeTimerSource()
        timer.setEventHandler { kill(process.processIdentifier, SIGKILL) }
        timer.schedule(deadline: .now() + 30)
        timer.resume()
        defer { timer.cancel() }
        var text = try output.fileHandleForReading.readToEnd() ?? Data()
        defer { text.resetBytes(in: text.indices) }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw self.failure("ended with status \(process.terminationStatus)")
        }
        let blanks = Data(" \t\r\n".utf8)
        let digits = text.prefix(1024).filter { !blanks.contains($0) }
        guard var key = Data(base64Encoded: digits), key.count == 32 else {
            throw self.failure("wrote no Base64 of 32 bytes")
        }
        defer { key.resetBytes(in: key.indices) }
        return SecretBytes(copying: key)
    }

    private func failure(_ reason: String) -> MobileTokenError {
        MobileTokenError(.storeSealingKeyMissing, "The command '\(self.words.first ?? "")' \(reason)")
    }
}
