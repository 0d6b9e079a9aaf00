/// Suggestions for mistyped words.
public enum Suggestion {
    /// Returns the closest candidate by edit distance, if it is close enough.
    public static func closest(to word: String, among candidates: [String]) -> String? {
        let word = Array(word.unicodeScalars)
        let near = candidates.compactMap { candidate -> (distance: Int, word: String)? in
            let scalars = Array(candidate.unicodeScalars)
            let tolerance = max(1, scalars.count / 3)
            // An external word may be long, so hopeless candidates are skipped.
            guard abs(scalars.count - word.count) <= tolerance else { return nil }
            let distance = Self.distance(word, scalars)
            return distance <= tolerance ? (distance, candidate) : nil
        }
        return near.min { $0.distance < $1.distance }?.word
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighbors.
    private static func distance(_ one: [Unicode.Scalar], _ other: [Unicode.Scalar]) -> Int {
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
