import Basics
import EmulatorMessages

/// The fault rules, with counts of their requests.
struct FaultInjector: Sendable {
    private struct ArmedRule {
        var rule: FaultRule
        var name: String
        var path: PathPattern?
        var matches = 0
        var strikes = 0

        init(_ rule: FaultRule, name: String) {
            self.rule = rule
            self.name = name
            self.path = rule.match.path.map { PathPattern(ofRequests: $0) }
        }
    }

    private var armed: [ArmedRule] = []
    /// The last number in a default rule name. Numbers are not reused, so that a name removes one rule.
    private var lastNumber = 0

    /// The rules in order. Setting them resets all counts.
    var rules: [FaultRule] {
        get { self.armed.map(\.rule) }
        set {
            self.armed = []
            self.lastNumber = 0
            for rule in newValue { self.append(rule) }
        }
    }

    /// The requests matched by each rule, in order. Only the core knows the postponed ones.
    var counts: [FaultRule.Count] {
        self.armed.map { FaultRule.Count(name: $0.name, matched: $0.matches, struck: $0.strikes, waiting: 0) }
    }

    /// Appends a rule; the other counts continue.
    mutating func append(_ rule: FaultRule) {
        var name: String
        repeat {
            self.lastNumber += 1
            name = "fault \(self.lastNumber)"
        } while self.armed.contains { $0.name == name }
        self.armed.append(ArmedRule(rule, name: rule.name ?? name))
    }

    /// Removes all rules with a name; the other counts continue.
    mutating func remove(named name: String) {
        self.armed.removeAll { $0.name == name }
    }

    /// A rule applied to a request.
    struct Strike: Sendable {
        let name: String
        var effect: FaultRule.Effect
        /// The delay in seconds before the request is handled.
        let delay: Double

        func wait(by clock: any Clock<Duration>) async throws {
            if self.delay > 0 { try await clock.sleep(for: Duration(boundedSeconds: self.delay)) }
        }
    }

    /// Counts the request, and returns the rule that applies.
    ///
    /// - Parameter activationID: The activation that the request names; evaluated only for a rule that names one.
    mutating func fault(
        method: String,
        path: String,
        activationID: @autoclosure () -> String?,
        using random: inout some RandomNumberGenerator
    ) -> Strike? {
        var struck: Int?
        lazy var activationID = activationID()
        for index in self.armed.indices {
            let (match, pattern) = (self.armed[index].rule.match, self.armed[index].path)
            if let wanted = match.method, !wanted.equalsIgnoringASCIICase(method) { continue }
            if let pattern, !pattern.matches(path) { continue }
            if let wanted = match.activation, wanted != activationID { continue }
            self.armed[index].matches += 1
            let count = self.armed[index].matches
            if let nth = match.nth, nth != count { continue }
            if let first = match.first, first < count { continue }
            if let probability = match.probability, Double.random(in: 0..<1, using: &random) >= probability { continue }
            struck = struck ?? index
        }
        guard let struck else { return nil }
        self.armed[struck].strikes += 1
        let effect = self.armed[struck].rule.effect
        return Strike(name: self.armed[struck].name, effect: effect, delay: effect.drawDelay(using: &random))
    }
}

extension FaultRule.Effect {
    /// Returns a random delay in seconds before a request is handled.
    func drawDelay(using random: inout some RandomNumberGenerator) -> Double {
        (self.delay ?? 0) + (self.jitter.map { $0 * Double.random(in: 0..<1, using: &random) } ?? 0)
    }
}

/// A path with wildcards: `?` is one character except a slash, `*` any number of those, `**` any string.
///
/// All possible matches are followed at once, one bit each, so matching costs the same for every pattern.
package struct PathPattern: Sendable, Hashable {
    /// A set of positions between the pattern's characters: reached ones, or those with an outgoing step.
    private struct Places: Hashable {
        var words: [UInt64]

        init(upTo count: Int) { self.words = Array(repeating: 0, count: count / 64 + 1) }

        mutating func insert(_ place: Int) { self.words[place / 64] |= 1 << UInt64(place % 64) }
        func contains(_ place: Int) -> Bool { self.words[place / 64] >> UInt64(place % 64) & 1 == 1 }
        var isEmpty: Bool { self.words.allSatisfy { $0 == 0 } }
    }

    /// The position after the last character.
    private var end = 0
    /// The positions that a byte leads on from.
    private var bytes: [UInt8: Places] = [:]
    private var one: Places
    /// The positions before a run of asterisks, which may match nothing.
    private var skipped: Places
    /// The positions after a run, where its match may continue.
    private var many: Places
    private var anything: Places

    package init(_ pattern: String) {
        let none = Places(upTo: pattern.utf8.count)
        (self.one, self.skipped, self.many, self.anything) = (none, none, none, none)
        var rest = pattern.utf8[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "?"): self.one.insert(self.end)
            case UInt8(ascii: "*"):
                let others = rest.prefix { $0 == byte }.count
                rest = rest.dropFirst(others)
                self.skipped.insert(self.end)
                if others > 0 { self.anything.insert(self.end + 1) } else { self.many.insert(self.end + 1) }
            default: self.bytes[byte, default: none].insert(self.end)
            }
            self.end += 1
        }
    }

    /// A pattern for request paths, which may include the context path.
    init(ofRequests pattern: String) { self.init(String(withoutContextPath(pattern[...]))) }

    package func matches(_ path: String) -> Bool { self.reached(by: path).contains(self.end) }

    /// Indicates whether a match can begin with this string.
    func canBegin(with beginning: String) -> Bool { !self.reached(by: beginning).isEmpty }

    /// Returns the positions that the string can reach.
    private func reached(by path: String) -> Places {
        var reached = Places(upTo: self.end)
        reached.insert(0)
        self.skip(&reached)
        for byte in path.utf8 where !reached.isEmpty { self.read(byte, &reached) }
        return reached
    }

    private func read(_ byte: UInt8, _ reached: inout Places) {
        let (exact, isSlash) = (self.bytes[byte], byte == UInt8(ascii: "/"))
        var carried: UInt64 = 0
        for index in reached.words.indices {
            let word = reached.words[index]
            let leaving = word & ((exact?.words[index] ?? 0) | (isSlash ? 0 : self.one.words[index]))
            let staying = word & (self.anything.words[index] | (isSlash ? 0 : self.many.words[index]))
            reached.words[index] = leaving << 1 | carried | staying
            carried = leaving >> 63
        }
        self.skip(&reached)
    }

    /// Adds the positions after asterisks. Runs are never adjacent, so one step suffices.
    private func skip(_ reached: inout Places) {
        var carried: UInt64 = 0
        for index in reached.words.indices {
            let skipping = reached.words[index] & self.skipped.words[index]
            reached.words[index] |= skipping << 1 | carried
            carried = skipping >> 63
        }
    }
}
