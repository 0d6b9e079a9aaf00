import Basics
import EmulatorMessages

/// The fault rules, and the requests that each has met.
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
    /// The number in the default name of the rule that was added last; none is given twice, so that it removes one rule.
    private var lastNumber = 0

    /// In their order. Setting them starts all counts anew.
    var rules: [FaultRule] {
        get { self.armed.map(\.rule) }
        set {
            self.armed = []
            self.lastNumber = 0
            for rule in newValue { self.append(rule) }
        }
    }

    /// The requests that each rule has met, in the order of the rules.
    var counts: [FaultRule.Count] {
        self.armed.map { FaultRule.Count(name: $0.name, matched: $0.matches, struck: $0.strikes) }
    }

    /// Adds a rule at the end; the counts of the others go on.
    mutating func append(_ rule: FaultRule) {
        var name: String
        repeat {
            self.lastNumber += 1
            name = "fault \(self.lastNumber)"
        } while self.armed.contains { $0.name == name }
        self.armed.append(ArmedRule(rule, name: rule.name ?? name))
    }

    /// Removes the rules of a name, which several may share; the counts of the others go on.
    mutating func remove(named name: String) {
        self.armed.removeAll { $0.name == name }
    }

    /// A rule that is applied to a request.
    struct Strike: Sendable {
        let name: String
        let effect: FaultRule.Effect
        /// The seconds to wait before the request is looked at.
        let delay: Double

        func wait(by clock: any Clock<Duration>) async throws {
            if self.delay > 0 { try await clock.sleep(for: Duration(boundedSeconds: self.delay)) }
        }
    }

    /// Counts the request, and returns what strikes it.
    ///
    /// - Parameter activationID: The activation that the request names; computed only for a rule that asks for one.
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
        let delay = effect.delay ?? effect.latency?.seconds(using: &random) ?? 0
        return Strike(name: self.armed[struck].name, effect: effect, delay: delay)
    }
}

/// A path with wildcards: `?` is one character but not a slash, `*` any number of those, `**` anything.
package struct PathPattern: Sendable, Hashable {
    private enum Token: Hashable {
        case byte(UInt8), one, many, anything
    }

    private let tokens: [Token]

    package init(_ pattern: String) {
        var tokens: [Token] = []
        for byte in pattern.utf8 {
            switch byte {
            case UInt8(ascii: "?"): tokens.append(.one)
            case UInt8(ascii: "*"):
                switch tokens.last {
                case .many: tokens[tokens.count - 1] = .anything
                case .anything: break
                default: tokens.append(.many)
                }
            default: tokens.append(.byte(byte))
            }
        }
        self.tokens = tokens
    }

    /// The path of requests, which may name the context path that they are known without.
    init(ofRequests pattern: String) { self.init(String(withoutContextPath(pattern[...]))) }

    package func matches(_ path: String) -> Bool { self.reached(by: path).last == true }

    /// Indicates whether it matches something that begins like this.
    func canBegin(with beginning: String) -> Bool { self.reached(by: beginning).contains(true) }

    /// Returns for each number of tokens whether so many match the text, in time proportional to the lengths' product, whatever the
    /// pattern is.
    private func reached(by path: String) -> [Bool] {
        // `reached[i]`: whether the first i tokens match what was read so far.
        var reached = [true] + self.tokens.map { _ in false }
        self.skipEmpty(&reached)
        for byte in path.utf8 {
            var next = reached.map { _ in false }
            for (index, token) in self.tokens.enumerated() {
                switch token {
                case .byte(let wanted): next[index + 1] = reached[index] && wanted == byte
                case .one: next[index + 1] = reached[index] && byte != UInt8(ascii: "/")
                case .many: next[index + 1] = reached[index + 1] && byte != UInt8(ascii: "/")
                case .anything: next[index + 1] = reached[index + 1]
                }
            }
            reached = next
            self.skipEmpty(&reached)
        }
        return reached
    }

    private func skipEmpty(_ reached: inout [Bool]) {
        for (index, token) in self.tokens.enumerated() where token == .many || token == .anything {
            if reached[index] { reached[index + 1] = true }
        }
    }
}
