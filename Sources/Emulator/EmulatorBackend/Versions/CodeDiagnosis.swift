import Basics
import PowerAuthCrypto
package import PowerAuthProtocol

/// The reason why a signature or a code is invalid, for the journal: the counters and keys tried, and the factors' mismatches.
package struct CodeDiagnosis: Sendable, Equatable {
    /// The number of steps beyond the look-ahead to search for a lost client.
    private static let searchedBeyond = 64

    /// Possible keys of the code.
    struct Candidate {
        /// The keys' name; `nil` if there are no others.
        let name: String?
        /// One key per factor, in order.
        let keys: [SecretBytes]
    }

    /// A counter and keys, with their matching components.
    package struct Comparison: Sendable, Equatable {
        /// The counter's lead over the server's in steps; negative if it is behind.
        package let stepsAhead: Int
        package let keyName: String?
        /// Indicates for each factor, in order, whether its component matches.
        package let matches: [Bool]

        fileprivate var rightCount: Int { self.matches.count { $0 } }
    }

    package let factors: [SignatureFactor]
    /// The maximum lead of a valid code, in steps.
    package let lookAhead: Int
    /// The attempt closest to the code; `nil` if no component matches anywhere.
    package let nearest: Comparison?
    /// The different data for which the code would be valid, apart from keys and counters.
    package var hint: String?
    /// The version's term for the code.
    private let noun: String
    private let keyNames: [String]

    /// - Parameters:
    ///   - noun: The version's term for the code: a signature or a code.
    ///   - counter: The server's expected counter.
    ///   - past: The earlier counters.
    ///   - beyond: The number of counters to try beyond the valid range.
    ///   - compare: Returns for each factor whether its component matches, for keys and a counter.
    init<Counter: ForwardCounter>(
        of noun: String,
        by factors: [SignatureFactor],
        candidates: [Candidate],
        counter: Counter,
        past: PastCounters<Counter>,
        lookAhead: Int,
        beyond: Int = Self.searchedBeyond,
        _ compare: (_ keys: [SecretBytes], _ counter: Counter) -> [Bool]?
    ) {
        var counter = counter
        var nearest: Comparison?
        for offset in 0..<lookAhead.addingSaturated(beyond) {
            for candidate in candidates {
                guard let matches = compare(candidate.keys, counter) else { continue }
                let comparison = Comparison(stepsAhead: offset, keyName: candidate.name, matches: matches)
                if comparison.rightCount > nearest?.rightCount ?? 0 { nearest = comparison }
            }
            if nearest?.rightCount == factors.count { break }
            counter = counter.next()
        }
        if nearest?.rightCount != factors.count {
            let behind = Self.findBehind(past, candidates, compare)
            nearest = behind ?? nearest
        }
        self.noun = noun
        self.factors = factors
        self.lookAhead = lookAhead
        self.nearest = nearest
        self.keyNames = candidates.compactMap(\.name)
    }

    /// Returns the earlier counter that produced the whole code.
    private static func findBehind<Counter>(
        _ past: PastCounters<Counter>,
        _ candidates: [Candidate],
        _ compare: (_ keys: [SecretBytes], _ counter: Counter) -> [Bool]?
    ) -> Comparison? {
        for (counter, stepsBehind) in past.oldestFirst {
            for candidate in candidates {
                guard let matches = compare(candidate.keys, counter), matches.allSatisfy(\.self) else { continue }
                return Comparison(stepsAhead: -stepsBehind, keyName: candidate.name, matches: matches)
            }
        }
        return nil
    }

    /// The reason in words.
    package var reason: String { self.finding + (self.hint.map { "; \($0)" } ?? "") }

    private var finding: String {
        let keys = self.keyNames.isEmpty ? "" : " with the " + self.keyNames.joined(separator: " and ")
        let tried = "the counters 0 to \(self.lookAhead - 1) steps ahead were tried\(keys)"
        guard let nearest = self.nearest else {
            return "the \(self.noun) is wrong: \(tried), and no component matches"
        }
        guard nearest.rightCount < self.factors.count else {
            let offset = nearest.stepsAhead
            guard offset >= 0 else {
                let steps = offset == -1 ? "1 step" : "\(-offset) steps"
                return "the \(self.noun) is wrong: its counter is \(steps) behind the server's, as of a restored backup"
            }
            return "the \(self.noun) is wrong: it is \(offset) steps ahead, and the server looks \(self.lookAhead) far"
        }
        let names = zip(self.factors, nearest.matches).map { "\($0.rawValue) \($1 ? "matches" : "does not match")" }
        let place = "\(nearest.stepsAhead) steps ahead" + (nearest.keyName.map { " with the \($0)" } ?? "")
        return "the \(self.noun) is wrong: \(tried); \(place), \(names.joined(separator: ", "))"
    }
}

extension CodeToVerify {
    /// Returns for each factor whether its component matches.
    ///
    /// - Parameters:
    ///   - online: All components, concatenated.
    ///   - length: The number of bytes of each.
    ///   - offline: The components as typed by a person, each with the given number of digits.
    func compare(online: [UInt8], length: Int, offline: (Int) -> String) -> [Bool] {
        switch self.form {
        case .online(let bytes, _):
            return stride(from: 0, to: online.count, by: length).map { start in
                bytes.dropFirst(start).prefix(length).elementsEqual(online.dropFirst(start).prefix(length))
            }
        case .offline(let code, let digits):
            let expected = offline(digits).utf8.split(separator: UInt8(ascii: "-"))
            let shown = code.utf8.split(separator: UInt8(ascii: "-"))
            return expected.indices.map { shown.indices.contains($0) && shown[$0].elementsEqual(expected[$0]) }
        }
    }

    /// The suffix of the covered bytes.
    var secret: SigningSecret {
        switch self.form {
        case .online(_, let secret): .online(secret)
        case .offline: .offline
        }
    }
}
