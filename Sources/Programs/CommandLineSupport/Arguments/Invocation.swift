import Basics

/// A command with the arguments of a call.
package struct Invocation: Sendable {
    package let command: Command
    private var values: [String: [String]] = [:]
    private var flags: Set<String> = []
    package private(set) var operands: [String] = []
    /// The words after `--`, which are also operands; `nil` without one.
    package private(set) var wordsAfterSeparator: [String]?

    /// Parses the words after the command's own.
    ///
    /// - Throws: ``UsageError`` for an unknown or repeated option, a missing or needless value, and missing or surplus operands.
    init(of command: Command, common: [Command.Option], words: [String]) throws {
        self.command = command
        let options = command.options + common
        var words = words[...]
        while let word = words.popFirst() {
            if word == "--" {
                self.operands += words
                self.wordsAfterSeparator = Array(words)
                break
            }
            if let option = options.first(where: { $0.letter != nil && $0.isNamed(word) }), !word.isLongOption {
                try self.take(option, nil, &words)
                continue
            }
            guard word.isLongOption else {
                self.operands.append(word)
                continue
            }
            let parts = word.unicodeScalars.dropFirst(2).split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            .map { String($0) }
            let name = parts.first ?? ""
            guard let option = options.first(where: { $0.name == name }) else {
                let hint = Suggestion.closest(to: name, among: options.map(\.name)).map { "; did you mean --\($0)?" }
                throw UsageError(message: "unknown option --\(name)\(hint ?? "")", command: command)
            }
            try self.take(option, parts.count == 2 ? parts[1] : nil, &words)
        }
        try self.checkOperands()
    }

    /// Reads an option and its value, which is attached to the name or the next word.
    private mutating func take(
        _ option: Command.Option,
        _ adjoined: String?,
        _ words: inout ArraySlice<String>
    ) throws {
        let name = option.name
        guard option.isRepeatable || self.values[name] == nil && !self.flags.contains(name) else {
            throw self.misuse("--\(name) stands twice")
        }
        guard let placeholder = option.value else {
            guard adjoined == nil else {
                throw self.misuse("--\(name) takes no value")
            }
            self.flags.insert(name)
            return
        }
        // A word that looks like an option is no value, except as `--name=--value`.
        let isForgotten = words.first?.isLongOption ?? true
        guard let value = adjoined ?? (isForgotten ? nil : words.popFirst()) else {
            throw self.misuse("--\(name) needs a value: \(placeholder)")
        }
        self.values[name, default: []].append(value)
    }

    private func checkOperands() throws {
        let needed = self.command.operands.filter { !$0.isOptional }
        if self.operands.count < needed.count {
            throw self.misuse("\(needed[self.operands.count].name) is missing")
        }
        if self.operands.count > self.command.operands.count, self.command.operands.last?.takesRest != true {
            throw self.misuse("'\(self.operands[self.command.operands.count])' is one word too many")
        }
    }

    /// Returns whether a flag was given.
    package func has(_ flag: String) -> Bool { self.flags.contains(flag) }

    /// The value of an option, if it was given.
    package subscript(_ option: String) -> String? { self.values[option]?.last }

    /// Returns the values of a repeatable option, in order.
    package func all(_ option: String) -> [String] { self.values[option] ?? [] }

    /// Returns the operand at a position, if it was given.
    package func operand(_ index: Int) -> String? { self.operands.indices.contains(index) ? self.operands[index] : nil }

    /// Returns an operand that the command requires.
    package func required(_ index: Int) throws -> String {
        guard let operand = self.operand(index) else {
            throw self.misuse("a word is missing")
        }
        return operand
    }

    /// Returns the value of an option as a whole number within a range.
    package func integer(_ option: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let value = self[option] else { return nil }
        guard let number = Int(value), range.contains(number) else {
            throw self.misuse("--\(option) takes a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// Returns the value of an option as a duration in seconds.
    package func seconds(_ option: String) throws -> Duration? {
        guard let value = self[option] else { return nil }
        guard let seconds = Double(value), seconds.isFinite, seconds > 0, seconds <= 86_400 else {
            throw self.misuse("--\(option) takes seconds, more than 0")
        }
        return .milliseconds(Int64((seconds * 1000).rounded()))
    }

    /// Returns the value of an option as a duration of whole seconds, such as `90`, `90s`, `5m`, `2h` or `7d`.
    package func duration(_ option: String) throws -> Duration? {
        guard let value = self[option] else { return nil }
        let units: [UInt8: Int64] = [
            UInt8(ascii: "s"): 1, UInt8(ascii: "m"): 60, UInt8(ascii: "h"): 3_600, UInt8(ascii: "d"): 86_400,
        ]
        let unit = value.utf8.last.flatMap { units[$0] }
        let digits = unit == nil ? Substring(value) : value.dropLast()
        guard let number = Int64(digits), (0...1 << 32).contains(number) else {
            throw self.misuse("--\(option) takes a time such as 90s, 5m or 2h")
        }
        return .seconds(number * (unit ?? 1))
    }

    /// Returns the error of arguments that are not those of the command.
    package func misuse(_ message: String) -> UsageError { UsageError(message: message, command: self.command) }
}

extension String {
    /// Indicates whether the word begins with two dashes, even if a combining mark follows.
    fileprivate var isLongOption: Bool { self.utf8.starts(with: "--".utf8) }
}
