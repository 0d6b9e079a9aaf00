/// Suggestions for words that were mistyped.
enum Suggestion {
    /// Returns the nearest candidate by edit distance, if it is near enough to be more than a guess.
    static func closest(to word: String, among candidates: [String]) -> String? {
        let scored = candidates.map { (distance: self.distance(word, $0), word: $0) }
        guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(1, best.word.count / 3) ? best.word : nil
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighbors between two words.
    static func distance(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one), Array(other))
        var beforeLast: [Int] = []
        var last = Array(0...other.count)
        for (i, left) in one.enumerated() {
            var row = [i + 1]
            for (j, right) in other.enumerated() {
                var best = min(row[j] + 1, last[j + 1] + 1, last[j] + (left == right ? 0 : 1))
                if i > 0, j > 0, left == other[j - 1], one[i - 1] == right { best = min(best, beforeLast[j - 1] + 1) }
                row.append(best)
            }
            beforeLast = last
            last = row
        }
        return last[other.count]
    }
}
