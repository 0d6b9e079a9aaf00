import MobileToken

/// The program's manual page in roff, for `man`.
enum ManualPage {
    static func page(_ program: CommandLineProgram) -> String {
        let name = CommandLineProgram.name
        var lines = [
            ".TH \(self.quoted(name.uppercased())) 1 \"\" \(self.quoted("\(name) \(MobileTokenClient.sdkVersion)"))",
            ".SH NAME", "\(self.escaped(name)) \\- \(self.escaped(program.summary))",
            ".SH SYNOPSIS", ".B \(self.escaped(name))", "\\fICOMMAND\\fR [\\fIOPTIONS\\fR]",
            ".SH COMMANDS",
        ]
        for command in program.commands { lines += self.section(command) }
        lines.append(".SH OPTIONS COMMON TO ALL COMMANDS")
        lines += program.commonOptions.flatMap(self.entry)
        if !program.environment.isEmpty {
            lines.append(".SH ENVIRONMENT")
            lines += program.environment.flatMap { [".TP", ".B \(self.escaped($0.name))", self.escaped($0.help)] }
        }
        lines.append(".SH EXIT STATUS")
        lines += ExitCode.meanings.flatMap { [".TP", ".B \($0.code.rawValue)", self.escaped($0.meaning)] }
        return lines.joined(separator: "\n")
    }

    private static func section(_ command: Command) -> [String] {
        let usage = ([command.name] + command.operands.map(\.placeholder)).joined(separator: " ")
        var lines = [".SS \(self.quoted(usage))", self.escaped(command.summary)]
        if case .hand(let other) = command.action { lines += [".PP", "See \(self.escaped(other.executable))(1)."] }
        if !command.discussion.isEmpty { lines += [".PP", self.escaped(command.discussion)] }
        lines += command.operands.flatMap { [".TP", ".I \(self.escaped($0.name))", self.escaped($0.help)] }
        return lines + command.options.flatMap(self.entry)
    }

    private static func entry(_ option: Command.Option) -> [String] {
        let value = option.value.map { " \\fI\(self.escaped($0))\\fR" } ?? ""
        return [".TP", "\\fB\(self.escaped("--\(option.name)"))\\fR\(value)", self.escaped(option.help)]
    }

    private static func quoted(_ string: String) -> String {
        "\"" + self.escaped(string).replacing("\"", with: "\\(dq") + "\""
    }

    /// Escapes hyphens, so that they can be copied, and leading `.` and `'`, which roff would read as requests.
    private static func escaped(_ string: String) -> String {
        let escaped = string.replacing("\\", with: "\\e").replacing("-", with: "\\-")
        return escaped.split(separator: "\n", omittingEmptySubsequences: false)
            .map {
                $0.utf8.first.map { [UInt8(ascii: "."), UInt8(ascii: "'")].contains($0) } ?? false
                    ? "\\&\($0)" : String($0)
            }
            .joined(separator: "\n")
    }
}
