import Basics

/// The shell's completions for the current word.
struct Completion {
    let commands: [Command]
    let commonOptions: [Command.Option]

    struct Candidate: Hashable {
        let word: String
        let summary: String
    }

    /// Returns the candidates for the last word; empty for a file or the user's own word.
    ///
    /// - Parameters:
    ///   - words: The words after the program's name; the last one is incomplete, and may be empty.
    ///   - command: The command that the earlier words select, if any.
    func candidates(for words: [String], of command: Command?) -> [Candidate] {
        let (before, current) = (words.dropLast(), words.last ?? "")
        guard !before.contains(where: { $0 == "--" }) else { return [] }
        var candidates = current.isOption ? [] : self.nextWords(after: before)
        if let command, before.count >= command.path.count {
            let options = command.options + self.commonOptions
            let isValue = options.contains { $0.value != nil && before.last.map($0.isNamed) ?? false }
            guard !isValue else { return [] }
            if current.isOption || candidates.isEmpty && command.operands.isEmpty {
                candidates += options.map { Candidate(word: "--\($0.name)", summary: $0.help) }
            }
        }
        return candidates.filter { $0.word.utf8.starts(with: current.utf8) }
    }

    /// Returns the next words of commands that continue the given ones.
    private func nextWords(after before: ArraySlice<String>) -> [Candidate] {
        var candidates: [Candidate] = []
        for command in self.commands where command.path.count > before.count && command.path.starts(with: before) {
            let word = command.path[before.count]
            guard !candidates.contains(where: { $0.word == word }) else { continue }
            let isWhole = command.path.count == before.count + 1
            candidates.append(Candidate(word: word, summary: isWhole ? command.summary : "\(word) ..."))
        }
        return candidates
    }
}

extension Completion {
    enum Shell: String, CaseIterable {
        case bash, zsh, fish

        /// Returns a script that asks the program itself, so that it never becomes outdated.
        ///
        /// - Parameter name: The program's name.
        func script(for name: String) -> String {
            let function =
                "_" + String(decoding: name.utf8.map { $0.isASCIIWordPart ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
            switch self {
            case .bash:
                return """
                    \(function)() {
                        local IFS=$'\\n'
                        COMPREPLY=($("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
                    }
                    complete -o default -F \(function) \(name)
                    """
            case .zsh:
                return """
                    #compdef \(name)
                    \(function)() {
                        local -a candidates
                        candidates=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
                        candidates=("${(@)candidates/$'\\t'/:}")
                        if [[ -n "${candidates[1]}" ]]; then _describe '\(name)' candidates; else _files; fi
                    }
                    if [[ "${funcstack[1]}" = '_\(name)' ]]; then \(function); else compdef \(function) \(name); fi
                    """
            case .fish:
                return """
                    complete -c \(name) -a '(\(name) completion words -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
                    """
            }
        }
    }
}

extension String {
    fileprivate var isOption: Bool { self.utf8.first == UInt8(ascii: "-") }
}

extension UInt8 {
    fileprivate var isASCIIWordPart: Bool { self.isASCIILetterOrDigit || self == UInt8(ascii: "_") }
}
