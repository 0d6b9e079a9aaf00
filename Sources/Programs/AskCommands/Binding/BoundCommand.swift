import Basics
import CommandLineSupport
import ExactJSON
import Foundation
import Glibc
import MobileTokenApprovals

/// A command with its bound values.
struct BoundCommand: Sendable {
    /// The words; `nil` if there is no command.
    let words: [String]?
    /// The working folder of the command, for its relative paths; `nil` if there is no command.
    private let folder: String?
    private let bindings: [Binding]

    /// Reads the bound values, after checking that the command can be started.
    ///
    /// - Parameter secrets: The secrets of this call, which the command must not receive.
    /// - Throws: `UsageError`.
    init(_ invocation: Invocation, withholding secrets: Withheld) throws {
        let words = invocation.wordsAfterSeparator
        guard invocation.operands.count == words?.count ?? 0 else {
            throw invocation.misuse("'\(invocation.operands[0])': the command comes after --")
        }
        guard words?.isEmpty != true else {
            throw invocation.misuse("there is no command after --")
        }
        let descriptions = invocation.all("bind")
        let names = descriptions.map { String($0.prefix { $0 != "=" }) }
        guard Set(names).count == names.count, descriptions.filter({ $0.hasSuffix("=stdin:") }).count <= 1 else {
            throw invocation.misuse("--bind has a name, or standard input, twice")
        }
        if let program = words?.first, !names.contains(where: { program.contains("{\($0)}") }) {
            try Self.requireProgram(program, invocation.command)
        }
        self.words = words
        self.folder = words == nil ? nil : try Self.currentFolder
        self.bindings = try descriptions.map { try Binding($0, withholding: secrets) }
        for case (.file(let path), let binding) in self.bindings.map({ ($0.source, $0) })
        where words?.contains(where: { $0.contains(binding.placeholder) }) == false && !Self.isRegular(path) {
            throw invocation.misuse(
                "\(path) is no regular file and cannot be read again before the start: name \(binding.placeholder)"
            )
        }
        try self.requireBoundPaths(invocation.command)
    }

    /// Refuses words that name a bound file by another path: they would use neither the copy nor the final check.
    private func requireBoundPaths(_ command: Command) throws {
        for case (.file(let bound), let binding) in self.bindings.map({ ($0.source, $0) }) {
            guard let identity = binding.identity, !identity.isDevice else { continue }
            for path in (self.words ?? []).flatMap(Self.paths) where path != bound && FileIdentity(path) == identity {
                throw UsageError(
                    message: "'\(path)' is the bound file \(bound) by another path: name \(binding.placeholder)",
                    command: command
                )
            }
        }
    }

    /// Returns the possible paths in a word, such as `./m` in `cat <./m` or `--file=./m`.
    private static func paths(in word: String) -> [String] {
        let parts = word.unicodeScalars.split {
            $0.properties.isWhitespace || "'\"=@:,;<>|&()`".unicodeScalars.contains($0)
        }
        return [word] + parts.map { String($0) }
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

    /// Searches for a program as its start will.
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

    /// The approved bytes: the words, the folder, and the digest of each value.
    var action: ApprovalRequest.Action {
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

    /// The error for a value that changed after its approval.
    private static func changed(_ name: String) -> AskFailure {
        AskFailure("changed", "\(name) was changed after it was approved: nothing was run", .unverified)
    }

    /// Runs the approved command.
    ///
    /// - Parameters:
    ///   - action: The approved bytes, which contain the command.
    ///   - notAfter: The end of the approval's validity.
    ///   - variables: The environment variables that it does not inherit.
    ///   - willStart: Called right before the command starts.
    /// - Returns: Its exit status.
    /// - Throws: An error if it was not started.
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
            // The command itself reads a file named by its path.
            guard !used.contains(binding.name) || words.contains(where: { $0.contains(path) }) else { continue }
            guard Binding.digest(ofFile: path) == binding.digest else { throw Self.changed(path) }
        }
        guard let folder = try? Self.currentFolder, approved["folder"]?.string?.isExactly(folder) == true else {
            throw Self.changed("the folder")
        }
        try Task.checkCancellation()
        // A stopped process or a slow disk may have taken any time until here.
        guard Date() <= notAfter else {
            throw AskFailure("lapsed", "the approval is too old to be used: nothing was run", .expired)
        }
        try willStart()
        let files = self.bindings.filter { used.contains($0.name) }.map(\.file)
        // Their descriptors must stay open until the command has them.
        defer { withExtendedLifetime(self.bindings) {} }
        do {
            return try await ChildProcess.run(
                words,
                removing: variables,
                input: input.map { FileHandle(fileDescriptor: $0.descriptor, closeOnDealloc: false) },
                sharing: files.map(\.descriptor)
            )
        } catch let error as UsageError {
            // The words were approved, so this is no usage error.
            throw AskFailure("notStarted", "\(error.message): the approval is used up", .local)
        }
    }
}
