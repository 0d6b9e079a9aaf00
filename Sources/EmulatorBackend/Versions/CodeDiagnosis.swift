import Basics
import PowerAuthCrypto
package import PowerAuthProtocol

/// The reason why a signature or a code is wrong, for the reader of the journal: which counters and keys were tried, and
/// which factor's component did not match.
package struct CodeDiagnosis: Sendable, Equatable {
    /// The number of steps beyond the look-ahead in which a lost client is looked for.
    private static let searchedBeyond = 64

    /// Keys that may have made the code.
    struct Candidate {
        /// `nil` where there are no others.
        let name: String?
        /// One for each factor, in their order.
        let keys: [SecretBytes]
    }

    /// A counter and keys, and what of the code they made.
    package struct Comparison: Sendable, Equatable {
        /// The number of steps by which the counter is ahead of the server's; negative when it is behind.
        package let stepsAhead: Int
        package let keyName: String?
        /// Indicates whether the component of each factor is right, in their order.
        package let matches: [Bool]

        fileprivate var rightCount: Int { self.matches.count { $0 } }
    }

    package let factors: [SignatureFactor]
    /// The number of steps by which a code may be ahead and still be right.
    package let lookAhead: Int
    /// The attempt that comes closest to the code; `nil` when no component matches anywhere.
    package let nearest: Comparison?
    /// The other data for which the code would be right, apart from keys and counters.
    package var hint: String?
    /// The version's name for the code.
    private let noun: String
    private let keyNames: [String]

    /// - Parameters:
    ///   - noun: The version's word for the code: a signature or a code.
    ///   - counter: The counter that the server expects.
    ///   - past: The counters before that one.
    ///   - beyond: The number of counters to try that are too far ahead to be right.
    ///   - compare: Returns whether the component of each factor is right, for keys and a counter.
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

    /// Returns the counter behind the server's that made the whole code.
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
    /// Returns whether the component of each factor is the one that was shown.
    ///
    /// - Parameters:
    ///   - online: All components, one after the other.
    ///   - length: The number of bytes of each.
    ///   - offline: The components as a person types them, each of so many digits.
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

    /// The end of the bytes that it covers.
    var secret: SigningSecret {
        switch self.form {
        case .online(_, let secret): .online(secret)
        case .offline: .offline
        }
    }
}
