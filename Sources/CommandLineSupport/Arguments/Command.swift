/// One command: what it accepts, what its help page says, and what it does.
package struct Command: Sendable {
    /// The words that select it, such as `["inbox", "list"]`; none for what a program does without any.
    package let path: [String]
    package let summary: String
    /// More for the help page, below the summary.
    let discussion: String
    let operands: [Operand]
    let options: [Option]
    let action: Action

    enum Action: Sendable {
        case run(@Sendable (Invocation) async throws -> ExitCode)
        /// Another program reads the words that follow, `--help` included.
        case hand(over: SiblingProgram)
    }

    /// A word that stands without a name.
    package struct Operand: Sendable {
        let name: String
        let help: String
        let isOptional: Bool
        /// Takes every word that is left, options included.
        let takesRest: Bool

        package init(_ name: String, _ help: String, isOptional: Bool = false, takesRest: Bool = false) {
            self.name = name
            self.help = help
            self.isOptional = isOptional
            self.takesRest = takesRest
        }
    }

    /// A word that begins with two dashes.
    package struct Option: Sendable {
        /// The long name without dashes.
        let name: String
        /// What the value stands for; `nil` makes it a flag.
        let value: String?
        let help: String

        package init(_ name: String, _ value: String? = nil, _ help: String) {
            self.name = name
            self.value = value
            self.help = help
        }
    }

    package init(
        _ path: String...,
        summary: String,
        discussion: String = "",
        operands: [Operand] = [],
        options: [Option] = [],
        run: @escaping @Sendable (Invocation) async throws -> ExitCode
    ) {
        self.path = path
        self.summary = summary
        self.discussion = discussion
        self.operands = operands
        self.options = options
        self.action = .run(run)
    }

    /// Creates a command that another program carries out.
    package init(_ path: String..., summary: String, handOverTo program: SiblingProgram) {
        self.path = path
        self.summary = summary
        self.discussion = ""
        self.operands = []
        self.options = []
        self.action = .hand(over: program)
    }

    package var name: String { self.path.joined(separator: " ") }
}

/// A mistake in the words of a call.
package struct UsageError: Error {
    let message: String
    /// The command whose help would tell more.
    let command: Command?

    package init(message: String, command: Command? = nil) {
        self.message = message
        self.command = command
    }
}

/// The server does not know what was asked for.
package struct NotFound: Error {
    let what: String

    package init(what: String) { self.what = what }
}
