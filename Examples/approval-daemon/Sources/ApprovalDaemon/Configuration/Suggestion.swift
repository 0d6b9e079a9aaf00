/// Suggestions for names that were mistyped, by the rule of the command-line programs.
enum Suggestion {
    /// Returns the question whether the nearest name is meant, or all names when none is near.
    static func text(for word: String, among names: [String]) -> String {
        let names = names.sorted()
        guard let name = Self.closest(to: word, among: names) else {
            return "there are: \(names.joined(separator: ", "))"
        }
        return "did you mean \"\(name)\"?"
    }

    /// Returns the nearest name by edit distance, if it is near enough to be more than a guess.
    private static func closest(to word: String, among names: [String]) -> String? {
        let near = names.compactMap { name -> (distance: Int, name: String)? in
            let tolerance = max(1, name.unicodeScalars.count / 3)
            // A word from outside may be long; nothing is computed of one that cannot be near.
            guard abs(name.unicodeScalars.count - word.unicodeScalars.count) <= tolerance else { return nil }
            let distance = Self.distance(word, name)
            return distance <= tolerance ? (distance, name) : nil
        }
        return near.min { $0.distance < $1.distance }?.name
    }

    /// Returns the number of insertions, deletions and replacements between two words.
    private static func distance(_ one: String, _ other: String) -> Int {
        var row = Array(0...other.unicodeScalars.count)
        for left in one.unicodeScalars {
            var diagonal = row[0]
            row[0] += 1
            for (index, right) in other.unicodeScalars.enumerated() {
                let replaced = diagonal + (left == right ? 0 : 1)
                diagonal = row[index + 1]
                row[index + 1] = min(replaced, diagonal + 1, row[index] + 1)
            }
        }
        return row[other.unicodeScalars.count]
    }
}
