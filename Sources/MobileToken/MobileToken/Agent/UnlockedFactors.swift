import Basics
import PowerAuthClient

/// Unlocked factors of activations, each kept for a limited time. Dropping the last reference wipes a factor.
struct UnlockedFactors: Sendable {
    private struct Entry {
        let authentication: Activation.Authentication
        let end: Duration
    }

    /// The time to keep a factor; zero keeps none.
    let lifetime: Duration
    private var entries: [ExactString: Entry] = [:]

    init(lifetime: Duration) {
        self.lifetime = max(.zero, lifetime.bounded)
    }

    var count: Int { self.entries.count }

    /// The time when the next factor must be dropped.
    var nextEnd: Duration? { self.entries.values.map(\.end).min() }

    func factor(of activationID: String, at now: Duration) -> Activation.Authentication? {
        self.entries[ExactString(activationID)].flatMap { $0.end > now ? $0.authentication : nil }
    }

    mutating func keep(_ authentication: Activation.Authentication, of activationID: String, at now: Duration) {
        guard self.lifetime > .zero else { return }
        self.entries[ExactString(activationID)] = Entry(authentication: authentication, end: now + self.lifetime)
    }

    mutating func drop(_ activationID: String) { self.entries[ExactString(activationID)] = nil }

    mutating func dropOld(at now: Duration) {
        self.entries = self.entries.filter { $0.value.end > now }
    }

    mutating func dropAll() { self.entries = [:] }
}
