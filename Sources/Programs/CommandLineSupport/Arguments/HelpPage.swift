/// The help pages of the program and of each command.
enum HelpPage {
    static func program(_ program: CommandLineProgram) -> String {
        """
        \(CommandLineProgram.name): \(program.summary)

        Usage: \(CommandLineProgram.name) COMMAND [OPTIONS]

        Commands:
        \(self.table(program.commands.map { ($0.name, $0.summary) }))

        Options common to all commands:
        \(self.table(program.commonOptions.map(self.row)))\(self.environment(program))

        '\(CommandLineProgram.name) --version' shows the version of the program.

        Exit codes:
        \(self.table(ExitCode.meanings.map { ("\($0.code.rawValue)", $0.meaning) }))

        '\(CommandLineProgram.name) help COMMAND' tells more about a command.
        """
    }

    static func command(_ command: Command, of program: CommandLineProgram) -> String {
        let operands = command.operands.map(\.placeholder)
        var page = "Usage: " + ([self.fullName(command)] + operands + ["[OPTIONS]"]).joined(separator: " ")
        page += "\n\n\(command.summary)"
        if !command.discussion.isEmpty { page += "\n\n\(command.discussion)" }
        // Only the page of an action without a command can list the others.
        let others = command.path.isEmpty ? program.commands.filter { !$0.path.isEmpty } : []
        if !others.isEmpty { page += "\n\nCommands:\n" + self.table(others.map { ($0.name, $0.summary) }) }
        if !command.operands.isEmpty {
            page += "\n\nArguments:\n" + self.table(command.operands.map { ($0.name, $0.help) })
        }
        if !command.options.isEmpty { page += "\n\nOptions:\n" + self.table(command.options.map(self.row)) }
        return page + "\n\nCommon options:\n" + self.table(program.commonOptions.map(self.row))
    }

    /// Returns the page of commands with a common prefix.
    static func group(_ words: [String], of program: CommandLineProgram) -> String {
        """
        Usage: \(([CommandLineProgram.name] + words).joined(separator: " ")) COMMAND [OPTIONS]

        Commands:
        \(self.table(program.commands.filter { $0.path.starts(with: words) }.map { ($0.name, $0.summary) }))
        """
    }

    private static func environment(_ program: CommandLineProgram) -> String {
        guard !program.environment.isEmpty else { return "" }
        return "\n\nEnvironment:\n" + self.table(program.environment.map { ($0.name, $0.help) })
    }

    /// Returns the words that call a command, including the program's name.
    static func fullName(_ command: Command?) -> String {
        ([CommandLineProgram.name] + (command?.path ?? [])).joined(separator: " ")
    }

    private static func row(_ option: Command.Option) -> (String, String) {
        ("--\(option.name)" + (option.value.map { " \($0)" } ?? ""), option.help)
    }

    private static func table(_ rows: [(left: String, right: String)]) -> String {
        let width = rows.map(\.left.count).max() ?? 0
        return rows.map { row in
            "  " + row.left + String(repeating: " ", count: width - row.left.count + 2) + row.right
        }.joined(separator: "\n")
    }
}
