/// The commands of every program, generated from its command table.
enum BuiltInCommands {
    static let all = [help, completion, completionWords]

    private static let help = Command(
        "help",
        summary: "Show help on the program or on a command.",
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
        summary: "Print the script that lets a shell complete the program's words.",
        discussion: """
            bash: source it from .bashrc, as in 'source <(mobile-token completion bash)'. zsh: the same from .zshrc, after
            compinit. fish: write it to ~/.config/fish/completions/mobile-token.fish.
            """,
        operands: [.init("SHELL", "bash, zsh or fish")]
    ) { program, invocation in
        guard let shell = Completion.Shell(rawValue: try invocation.required(0)) else {
            let names = Completion.Shell.allCases.map(\.rawValue).joined(separator: ", ")
            throw invocation.misuse("the shell is one of: \(names)")
        }
        Output.line(shell.script(for: CommandLineProgram.name))
        return .done
    }

    private static let completionWords = Command(
        "completion",
        "words",
        summary: "Print completions of the last word; shells call it.",
        operands: [.init("WORD", "the words so far, after --", isOptional: true, takesRest: true)]
    ) { program, invocation in
        program.complete(invocation.operands)
        return .done
    }
}

extension CommandLineProgram {
    /// Prints the candidates for the last word.
    fileprivate func complete(_ words: [String]) {
        let command = self.command(for: words.dropLast())
        if let command, case .hand(let program) = command.action, !command.path.isEmpty {
            // Both programs may have commands that begin with these words.
            self.show(self.candidates(for: words, of: nil))
            let rest = Array(words.dropFirst(command.path.count))
            // Returns only if there is no such program, so that the command is unknown.
            _ = program.takeOver(with: ["completion", "words", "--"] + program.words + rest, isBare: true)
            return
        }
        self.show(self.candidates(for: words, of: command))
    }

    private func candidates(for words: [String], of command: Command?) -> [Completion.Candidate] {
        Completion(commands: self.commands, commonOptions: self.commonOptions).candidates(for: words, of: command)
    }

    private func show(_ candidates: [Completion.Candidate]) {
        for candidate in candidates { Output.line("\(candidate.word)\t\(candidate.summary)") }
    }

    /// - Throws: ``UsageError`` if there is no such command.
    fileprivate func helpPage(for words: [String]) throws -> String {
        let command = self.command(for: words)
        if let command, case .hand(let program) = command.action {
            let rest = Array(words.dropFirst(command.path.count))
            throw UsageError(message: program.takeOver(with: rest + ["--help"]))
        }
        guard let command, command.path.count == words.count else {
            guard self.commands.contains(where: { $0.path.starts(with: words) }) else {
                throw UsageError(message: self.unknown(words))
            }
            return HelpPage.group(words, of: self)
        }
        return HelpPage.command(command, of: self)
    }
}
