import Basics
import PowerAuth

/// Factors that were unlocked for activations, each kept for a while. Letting one go wipes it, when nobody else holds it.
struct UnlockedFactors: Sendable {
    private struct Entry {
        let authentication: Authentication
        let end: Duration
    }

    /// The time for which a factor is kept; not at all when zero.
    let lifetime: Duration
    private var entries: [ExactString: Entry] = [:]

    init(lifetime: Duration) {
        self.lifetime = max(.zero, lifetime.bounded)
    }

    /// The number of factors that are kept.
    var count: Int { self.entries.count }

    /// The time when the next one is to be let go of.
    var nextEnd: Duration? { self.entries.values.map(\.end).min() }

    func factor(of activationID: String, at now: Duration) -> Authentication? {
        self.entries[ExactString(activationID)].flatMap { $0.end > now ? $0.authentication : nil }
    }

    mutating func keep(_ authentication: Authentication, of activationID: String, at now: Duration) {
        guard self.lifetime > .zero else { return }
        self.entries[ExactString(activationID)] = Entry(authentication: authentication, end: now + self.lifetime)
    }

    mutating func drop(_ activationID: String) { self.entries[ExactString(activationID)] = nil }

    mutating func dropOld(at now: Duration) {
        self.entries = self.entries.filter { $0.value.end > now }
    }

    mutating func dropAll() { self.entries = [:] }
}
