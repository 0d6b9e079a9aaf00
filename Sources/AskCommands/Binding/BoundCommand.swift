import Basics
import CommandLineSupport
import ExactJSON
import Foundation
import Glibc
import MobileTokenApprovals

/// A command with the values that it is bound to.
struct BoundCommand: Sendable {
    /// The words; `nil` when nothing is to be run.
    let words: [String]?
    /// The folder in which the command runs, where its relative paths lead to; `nil` when nothing is to be run.
    private let folder: String?
    private let bindings: [Binding]

    /// Reads what is bound, after it has looked whether the command can be started.
    ///
    /// - Parameter variables: The environment variables that the command does not inherit.
    /// - Throws: `UsageError`.
    init(_ invocation: Invocation, withholding variables: Set<String>) throws {
        let words = invocation.wordsAfterSeparator
        guard invocation.operands.count == words?.count ?? 0 else {
            throw UsageError(
                message: "'\(invocation.operands[0])': the command comes after --",
                command: invocation.command
            )
        }
        guard words?.isEmpty != true else {
            throw UsageError(message: "there is no command after --", command: invocation.command)
        }
        let descriptions = invocation.all("bind")
        let names = descriptions.map { String($0.prefix { $0 != "=" }) }
        guard Set(names).count == names.count, descriptions.filter({ $0.hasSuffix("=stdin:") }).count <= 1 else {
            throw UsageError(message: "--bind has a name, or standard input, twice", command: invocation.command)
        }
        if let program = words?.first, !names.contains(where: { program.contains("{\($0)}") }) {
            try Self.requireProgram(program, invocation.command)
        }
        self.words = words
        self.folder = words == nil ? nil : try Self.currentFolder
        self.bindings = try descriptions.map { try Binding($0, withholding: variables) }
        for case (.file(let path), let binding) in self.bindings.map({ ($0.source, $0) })
        where words?.contains(where: { $0.contains(binding.placeholder) }) == false && !Self.isRegular(path) {
            throw UsageError(
                message:
                    "\(path) is no regular file and cannot be read again before the start: name \(binding.placeholder)",
                command: invocation.command
            )
        }
    }

    private static var currentFolder: String {
        get throws {
            guard let path = getcwd(nil, 0) else {
                throw UsageError(message: "there is no folder to run the command in: nobody was asked")
            }
            defer { free(path) }
            guard let folder = String(validatingCString: path) else {
                throw UsageError(message: "the folder's name is not UTF-8: nobody was asked")
            }
            return folder
        }
    }

    private static func isRegular(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Looks for a program as it will be looked for when it is started.
    private static func requireProgram(_ program: String, _ command: Command) throws {
        func isProgram(_ path: String) -> Bool { self.isRegular(path) && access(path, X_OK) == 0 }
        let folders = ProcessInfo.processInfo.environment["PATH"] ?? "/bin:/usr/bin"
        let paths =
            program.contains("/")
            ? [program]
            : folders.split(separator: ":", omittingEmptySubsequences: false).map {
                $0.isEmpty ? program : "\($0)/\(program)"
            }
        guard paths.contains(where: isProgram) else {
            throw UsageError(message: "there is no program '\(program)': nobody was asked", command: command)
        }
    }

    /// The bytes that are approved: the words, the folder, and the digest of each value.
    var action: Action {
        get throws {
            try .json([
                "command": .array((self.words ?? []).map { .string($0) }),
                "folder": self.folder.map { .string($0) } ?? .null,
                "bind": .object(
                    JSONObject(
                        self.bindings.map { binding in
                            JSONObject.Member(
                                key: binding.name,
                                value: [
                                    "from": .string(binding.source.description), "sha256": .string(binding.digest),
                                ]
                            )
                        }
                    )
                ),
            ])
        }
    }

    /// The error of a value that is another one than was approved.
    private static func changed(_ name: String) -> AskFailure {
        AskFailure("changed", "\(name) was changed after it was approved: nothing was run", .unverified)
    }

    /// Runs the command that was approved.
    ///
    /// - Parameters:
    ///   - action: The bytes that were approved: what is run stands in them.
    ///   - notAfter: The time after which the approval is too old to be used.
    ///   - variables: The environment variables that it does not inherit.
    ///   - willStart: Called right before the command starts.
    /// - Returns: Its exit status.
    /// - Throws: An error when it was not started.
    func run(
        _ action: [UInt8],
        notAfter: Date,
        withholding variables: Set<String>,
        willStart: () throws -> Void
    ) async throws -> ExitCode {
        let approved = try JSONValue(parsing: action)
        var words = (approved["command"]?.array ?? []).compactMap(\.string)
        var used: Set<String> = []
        for binding in self.bindings {
            guard approved["bind"]?[binding.name]?["sha256"]?.string == binding.digest else {
                throw Self.changed("the value '\(binding.name)'")
            }
            let isNamed = words.contains { $0.contains(binding.placeholder) }
            words = words.map { $0.replacing(binding.placeholder, with: binding.file.path) }
            if isNamed { used.insert(binding.name) }
        }
        let input = self.bindings.first { $0.source == .standardInput }?.file
        for case (.file(let path), let binding) in self.bindings.map({ ($0.source, $0) }) {
            // Named by its path, it is read by the command itself.
            guard !used.contains(binding.name) || words.contains(where: { $0.contains(path) }) else { continue }
            guard try Binding.digest(ofFile: path) == binding.digest else { throw Self.changed(path) }
        }
        guard let folder = try? Self.currentFolder, approved["folder"]?.string?.isExactly(folder) == true else {
            throw Self.changed("the folder")
        }
        try Task.checkCancellation()
        // A process that was stopped, or a disk that was slow, may have taken any time until here.
        guard Date() <= notAfter else {
            throw AskFailure("lapsed", "the approval is too old to be used: nothing was run", .expired)
        }
        try willStart()
        let files = self.bindings.filter { used.contains($0.name) }.map(\.file)
        // Their descriptors must not be closed before the command has them.
        defer { withExtendedLifetime(self.bindings) {} }
        do {
            return try await ChildProcess.run(
                words,
                removing: variables,
                input: input.map { FileHandle(fileDescriptor: $0.descriptor, closeOnDealloc: false) },
                sharing: files.map(\.descriptor)
            )
        } catch let error as UsageError {
            // The words were approved: nothing is wrong with how they were given.
            throw AskFailure("notStarted", "\(error.message): the approval is used up", .local)
        }
    }
}
