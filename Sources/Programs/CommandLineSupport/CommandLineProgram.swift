import Basics
import Foundation
import MobileToken

/// A program with several commands, which runs one of them and exits with its code.
package struct CommandLineProgram: Sendable {
    let commands: [Command]
    let commonOptions: [Command.Option]
    let summary: String
    /// The environment variables that it reads.
    let environment: [(name: String, help: String)]
    /// Returns the output of `--version`.
    let version: @Sendable () -> String
    /// Runs before a forced exit.
    let cleanUp: @Sendable () -> Void

    /// Creates a program.
    ///
    /// - Parameters:
    ///   - commonOptions: Options of every command, besides `--json` and `--help`.
    ///   - environment: The environment variables that it reads.
    ///   - version: Returns the output of `--version`.
    ///   - cleanUp: Runs before a forced exit.
    package init(
        summary: String,
        version: @escaping @Sendable () -> String = { MobileTokenClient.sdkVersion },
        commands: [Command],
        commonOptions: [Command.Option] = [],
        environment: [(name: String, help: String)] = [],
        cleanUp: @escaping @Sendable () -> Void = {}
    ) {
        self.summary = summary
        self.version = version
        self.commands = commands + BuiltInCommands.all
        self.environment = environment
        self.commonOptions =
            commonOptions + [
                Command.Option("json", nil, "write results as JSON"),
                Command.Option("help", nil, "show this help"),
            ]
        self.cleanUp = cleanUp
    }

    /// The name by which the program was called, which `mobile-token` also passes to programs that run its commands.
    package static let name: String = {
        let path = (CommandLine.arguments.first ?? "").utf8.split(separator: UInt8(ascii: "/"))
        return path.last.map { TextTable.printable(String(decoding: $0, as: UTF8.self)) } ?? "mobile-token"
    }()

    /// Indicates whether all arguments are UTF-8; Swift has replaced invalid bytes.
    private static var areWordsText: Bool {
        (0..<Int(CommandLine.argc)).allSatisfy { index in
            CommandLine.unsafeArgv[index].map { String(validatingCString: $0) != nil } ?? true
        }
    }

    /// Runs the command in this process's arguments, and exits.
    package func main() async -> Never {
        Output.fillClosedDescriptors()
        _ = ChildProcess.inheritedDescriptors
        let words = Array(CommandLine.arguments.dropFirst())
        guard Self.areWordsText else {
            Output.note("\(Self.name): a word is not UTF-8, and would be taken for another one")
            exit(ExitCode.usage.rawValue)
        }
        // Before any change that the other program would inherit, such as ignored signals.
        if let command = self.command(for: words), case .hand(let program) = command.action {
            Output.note("\(Self.name): \(TextTable.printable(program.takeOver(with: Self.rest(words, of: command))))")
            exit(ExitCode.local.rawValue)
        }
        let work = Task { await self.run(words) }
        let signals = TerminationSignals(onSignal: { work.cancel() }, beforeForcedExit: self.cleanUp)
        let code = await work.value
        signals.stop()
        exit(code.rawValue)
    }

    /// Runs the command named by `words`. Every error becomes a line on standard error, a document with `--json`, and a
    /// documented exit code.
    private func run(_ words: [String]) async -> ExitCode {
        do {
            return try await self.dispatch(words)
        } catch {
            let failure = Failure(error, options: self.options(of: words))
            if words.prefix(while: { $0 != "--" }).contains("--json") {
                Output.note(failure.document)
            } else if !(error is CancellationError) {
                Output.note("\(Self.name): \(TextTable.printable(failure.message + failure.hint))")
                if let error = error as? UsageError {
                    Output.note("See '\(HelpPage.fullName(error.command)) --help'.")
                }
            }
            return failure.exitCode
        }
    }

    private func options(of words: [String]) -> [String] {
        ((self.command(for: words)?.options ?? []) + self.commonOptions).map(\.name)
    }

    private func dispatch(_ words: [String]) async throws -> ExitCode {
        let called = self.command(for: words)
        // Among the program's options: no command was named, though one without a name may have been called.
        let options = words.prefix { $0 != "--" }
        if called?.path.isEmpty ?? true, options.first?.isOption ?? false, options.contains("--version") {
            Output.line("\(Self.name) \(self.version())")
            return .done
        }
        guard let command = called, !command.path.isEmpty || !self.isCommand(words.first, for: command) else {
            guard let first = words.first, !first.isOption else {
                let isHelp = words.contains { $0 == "--help" || $0 == "-h" }
                guard isHelp || words.isEmpty else { throw UsageError(message: "the command comes first") }
                Output.line(HelpPage.program(self))
                return words.isEmpty ? .usage : .done
            }
            let spoken = words.filter { !$0.isOption }
            if spoken.count < words.count, words.contains(where: { $0 == "--help" || $0 == "-h" }),
                self.commands.contains(where: { $0.path.starts(with: spoken) })
            {
                Output.line(HelpPage.group(spoken, of: self))
                return .done
            }
            throw UsageError(message: self.unknown(words))
        }
        let rest = Self.rest(words, of: command)
        if Self.asksForHelp(rest, command.options + self.commonOptions) {
            Output.line(HelpPage.command(command, of: self))
            return .done
        }
        let invocation = try Invocation(of: command, common: self.commonOptions, words: rest)
        switch command.action {
        case .run(let body): return try await body(invocation)
        case .builtIn(let body): return try body(self, invocation)
        case .hand: return .local  // taken over before
        }
    }

    /// Returns the command with the longest path, so that `inbox list` takes precedence over `inbox`.
    func command(for words: some Collection<String>) -> Command? {
        self.commands.filter { words.starts(with: $0.path) }.max { $0.path.count < $1.path.count }
    }

    /// Returns whether the first word can only be the name of a command or a group.
    private func isCommand(_ word: String?, for unnamed: Command) -> Bool {
        guard let word, !word.isOption else { return false }
        return unnamed.operands.isEmpty || self.commands.contains { $0.path.count > 1 && $0.path.first == word }
    }

    /// Returns whether help is among the options, but not as an option's value: a value from elsewhere must not end a command as
    /// if it succeeded.
    private static func asksForHelp(_ words: [String], _ options: [Command.Option]) -> Bool {
        var isValue = false
        for word in words.prefix(while: { $0 != "--" }) {
            if !isValue, word == "--help" || word == "-h" { return true }
            isValue = !isValue && options.contains { $0.value != nil && $0.isNamed(word) }
        }
        return false
    }

    private static func rest(_ words: [String], of command: Command) -> [String] {
        Array(words.dropFirst(command.path.count))
    }

    func unknown(_ words: [String]) -> String {
        let spoken = words.prefix { !$0.isOption }
        let group = self.commands.filter { $0.path.count > 1 && $0.path.first == spoken.first }
        if !group.isEmpty {
            let next = spoken.dropFirst().first
            let hint = next.flatMap { Suggestion.closest(to: $0, among: group.compactMap(\.path.last)) }
            let choices = group.compactMap(\.path.last).joined(separator: ", ")
            let question = hint.map { "; did you mean '\(spoken.first ?? "") \($0)'?" } ?? ""
            return "'\(spoken.first ?? "")' is followed by one of: \(choices)\(question)"
        }
        let word = spoken.first ?? ""
        let hint = Suggestion.closest(to: word, among: self.commands.compactMap(\.path.first))
        return "unknown command '\(word)'" + (hint.map { "; did you mean '\($0)'?" } ?? "")
    }
}

extension String {
    fileprivate var isOption: Bool { self.utf8.first == UInt8(ascii: "-") }
}
