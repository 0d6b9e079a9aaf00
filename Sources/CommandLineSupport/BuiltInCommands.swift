/// The commands that every program has, made from its table of commands.
enum BuiltInCommands {
    static let all = [help, completion, completionWords]

    private static let help = Command(
        "help",
        summary: "Show what the program does, or a command.",
        operands: [.init("COMMAND", "the command's words", isOptional: true, takesRest: true)],
        options: [.init("man", nil, "the whole manual as a page for 'man'")]
    ) { program, invocation in
        if invocation.has("man") {
            Output.line(ManualPage.page(program))
        } else if invocation.operands.isEmpty {
            Output.line(HelpPage.program(program))
        } else {
            Output.line(try program.helpPage(for: invocation.operands))
        }
        return .done
    }

    private static let completion = Command(
        "completion",
        summary: "Print what teaches a shell to complete the program's words.",
        discussion: """
            bash: source it from .bashrc, as in 'source <(mobile-token completion bash)'. zsh: the same from .zshrc, after
            compinit. fish: write it to ~/.config/fish/completions/mobile-token.fish.
            """,
        operands: [.init("SHELL", "bash, zsh or fish")]
    ) { program, invocation in
        guard let shell = Completion.Shell(rawValue: try invocation.required(0)) else {
            let names = Completion.Shell.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError(message: "the shell is one of: \(names)", command: invocation.command)
        }
        Output.line(shell.script(for: CommandLineProgram.name))
        return .done
    }

    private static let completionWords = Command(
        "completion",
        "words",
        summary: "Print what may stand in the place of the last word; shells call it.",
        operands: [.init("WORD", "the words so far, after --", isOptional: true, takesRest: true)]
    ) { program, invocation in
        for line in program.completions(of: invocation.operands) { Output.line(line) }
        return .done
    }
}

extension CommandLineProgram {
    fileprivate func completions(of words: [String]) -> [String] {
        let command = self.command(for: words.dropLast())
        if let command, case .hand(let program) = command.action, !command.path.isEmpty {
            let rest = Array(words.dropFirst(command.path.count))
            // Returns only when there is no such program, and then nothing is known of the command.
            _ = program.takeOver(with: ["completion", "words", "--"] + program.words + rest, isBare: true)
            return []
        }
        return Completion(commands: self.commands, commonOptions: self.commonOptions)
            .candidates(for: words, of: command)
            .map { "\($0.word)\t\($0.summary)" }
    }

    /// - Throws: ``UsageError`` when there is no such command.
    fileprivate func helpPage(for words: [String]) throws -> String {
        guard let command = self.command(for: words), command.path.count == words.count else {
            guard self.commands.contains(where: { $0.path.starts(with: words) }) else {
                throw UsageError(message: self.unknown(words))
            }
            return HelpPage.group(words, of: self)
        }
        if case .hand(let program) = command.action { throw UsageError(message: program.takeOver(with: ["--help"])) }
        return HelpPage.command(command, of: self)
    }
}
