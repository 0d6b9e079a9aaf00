import Basics

/// A command: its arguments, its help page and its action.
package struct Command: Sendable {
    /// The words that select it, such as `["inbox", "list"]`; empty for a program's action without a command.
    package let path: [String]
    package let summary: String
    /// Details for the help page, below the summary.
    let discussion: String
    let operands: [Operand]
    let options: [Option]
    let action: Action

    enum Action: Sendable {
        case run(@Sendable (Invocation) async throws -> ExitCode)
        /// Another program handles the remaining words, including `--help`.
        case hand(over: SiblingProgram)
        /// A command of every program, made from the program's own commands.
        case builtIn(@Sendable (CommandLineProgram, Invocation) throws -> ExitCode)
    }

    /// A positional argument.
    package struct Operand: Sendable {
        let name: String
        let help: String
        let isOptional: Bool
        /// Indicates whether it takes all remaining words, including options.
        let takesRest: Bool

        /// The operand in a usage line.
        var placeholder: String {
            let name = self.takesRest ? "\(self.name)..." : self.name
            return self.isOptional ? "[\(name)]" : name
        }

        package init(_ name: String, _ help: String, isOptional: Bool = false, takesRest: Bool = false) {
            self.name = name
            self.help = help
            self.isOptional = isOptional
            self.takesRest = takesRest
        }
    }

    /// An argument that begins with two dashes.
    package struct Option: Sendable {
        /// The long name without dashes.
        package let name: String
        /// The placeholder of the value; `nil` for a flag.
        let value: String?
        let help: String
        /// The short form's letter; `nil` for none.
        let letter: Character?
        let isRepeatable: Bool

        /// Creates an option.
        ///
        /// - Parameters:
        ///   - letter: The letter of the short form.
        ///   - isRepeatable: `true` to allow several occurrences.
        package init(
            _ name: String,
            _ value: String? = nil,
            _ help: String,
            letter: Character? = nil,
            isRepeatable: Bool = false
        ) {
            self.name = name
            self.value = value
            self.letter = letter
            self.isRepeatable = isRepeatable
            let notes = [letter.map { "also -\($0)" }, isRepeatable ? "may stand several times" : nil].compactMap { $0 }
            self.help = help + (notes.isEmpty ? "" : " (\(notes.joined(separator: "; ")))")
        }

        /// Returns whether a word is the option itself, without a value.
        func isNamed(_ word: String) -> Bool {
            "--\(self.name)".isExactly(word) || self.letter.map { "-\($0)".isExactly(word) } ?? false
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

    /// Creates a command that every program has.
    init(
        _ path: String...,
        summary: String,
        discussion: String = "",
        operands: [Operand],
        options: [Option] = [],
        builtIn body: @escaping @Sendable (CommandLineProgram, Invocation) throws -> ExitCode
    ) {
        self.path = path
        self.summary = summary
        self.discussion = discussion
        self.operands = operands
        self.options = options
        self.action = .builtIn(body)
    }

    /// Creates a command that another program runs.
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

/// An error in the arguments.
package struct UsageError: Error {
    package let message: String
    /// The command with a helpful help page.
    let command: Command?

    package init(message: String, command: Command? = nil) {
        self.message = message
        self.command = command
    }
}

/// The error of a setting in a file, as opposed to an argument.
package struct ConfigurationError: Error {
    let message: String

    package init(message: String) { self.message = message }
}

/// The error for an object that the server lacks.
package struct NotFound: Error {
    let what: String

    package init(what: String) { self.what = what }
}
