internal import Foundation
internal import MobileToken

@main
enum Program {
    static let commands: [Command] =
        ActivationCommands.all + OperationCommands.all + InboxCommands.all + EmulatorCommands.all + [Demo.command]

    static let commonOptions: [Command.Option] =
        Session.options + [
            Command.Option("json", nil, "write results as JSON"),
            Command.Option("help", nil, "show this help"),
        ]

    static func main() async {
        Output.fillClosedDescriptors()
        let words = Array(CommandLine.arguments.dropFirst())
        let work = Task { await Self.run(words) }
        let signals = TerminationSignals { work.cancel() }
        let code = await work.value
        signals.stop()
        exit(code.rawValue)
    }

    /// Does what the words say. Every mistake ends as a line on standard error and a documented exit code.
    static func run(_ words: [String]) async -> ExitCode {
        do {
            return try await self.dispatch(words)
        } catch let error as UsageError {
            Output.note("mobile-token: \(TextTable.printable(error.message))")
            let place = error.command.map { "mobile-token \($0.name) --help" } ?? "mobile-token --help"
            Output.note("See '\(place)'.")
            return .usage
        } catch is CancellationError {
            return .interrupted
        } catch let error as NotFound {
            Output.note("mobile-token: the server knows no \(TextTable.printable(error.what))")
            return .notFound
        } catch let error as MobileTokenError {
            Output.note("mobile-token: \(TextTable.printable("\(error)"))")
            return ExitCode(error)
        } catch {
            Output.note("mobile-token: \(TextTable.printable("\(error)"))")
            return .refused
        }
    }

    private static func dispatch(_ words: [String]) async throws -> ExitCode {
        let isHelp = words.contains { $0 == "--help" || $0 == "-h" }
        guard let first = words.first, !first.hasPrefix("-") else {
            guard isHelp || words.isEmpty else { throw UsageError(message: "the command comes first") }
            Output.line(HelpPage.program(self.commands, common: self.commonOptions))
            return words.isEmpty ? .usage : .done
        }
        // The longest path wins: `inbox list` before `inbox`.
        let matches = self.commands.filter { words.starts(with: $0.path) }
        guard let command = matches.max(by: { $0.path.count < $1.path.count }) else {
            throw UsageError(message: self.unknown(words))
        }
        let rest = Array(words.dropFirst(command.path.count))
        if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) {
            Output.line(HelpPage.command(command, common: self.commonOptions))
            return .done
        }
        return try await command.run(Invocation(of: command, common: self.commonOptions, words: rest))
    }

    private static func unknown(_ words: [String]) -> String {
        let spoken = words.prefix { !$0.hasPrefix("-") }
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
