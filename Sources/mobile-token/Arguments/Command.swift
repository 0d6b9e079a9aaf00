/// One command: what it accepts, what its help page says, and what it does.
struct Command: Sendable {
    /// The words that select it, such as `["inbox", "list"]`.
    let path: [String]
    let summary: String
    /// More for the help page, below the summary.
    let discussion: String
    let operands: [Operand]
    let options: [Option]
    let run: @Sendable (Invocation) async throws -> ExitCode

    /// A word that stands without a name.
    struct Operand: Sendable {
        let name: String
        let help: String
        let isOptional: Bool
        /// Takes every word that is left, options included.
        let takesRest: Bool

        init(_ name: String, _ help: String, isOptional: Bool = false, takesRest: Bool = false) {
            self.name = name
            self.help = help
            self.isOptional = isOptional
            self.takesRest = takesRest
        }
    }

    /// A word that begins with two dashes.
    struct Option: Sendable {
        /// The long name without dashes.
        let name: String
        /// What the value stands for; `nil` makes it a flag.
        let value: String?
        let help: String

        init(_ name: String, _ value: String? = nil, _ help: String) {
            self.name = name
            self.value = value
            self.help = help
        }
    }

    init(
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
        self.run = run
    }

    var name: String { self.path.joined(separator: " ") }
}

/// What a process ends with. The numbers are documented in the help and never change their meaning.
struct ExitCode: Sendable, Hashable {
    let rawValue: Int32

    static let done = Self(rawValue: 0)
    static let refused = Self(rawValue: 1)
    static let usage = Self(rawValue: 2)
    static let network = Self(rawValue: 3)
    static let notFound = Self(rawValue: 4)
    static let local = Self(rawValue: 5)
    static let interrupted = Self(rawValue: 130)
}

/// A mistake in the words of a call.
struct UsageError: Error {
    let message: String
    /// The command whose help would tell more.
    var command: Command?
}
