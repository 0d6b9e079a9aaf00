import Basics
import EmulatorBackend
import EmulatorMessages

/// The requests postponed by faults: held ones, whose clients may still wait, and late ones, which already got a response.
struct PostponedRequests: Sendable {
    struct Element: Sendable {
        let visit: EmulatorCore.Visit
        /// The time of arrival, by the server's clock like all times.
        let since: Milliseconds
        let due: Milliseconds
        /// Receives the response, if a client waits for it.
        let answer: AsyncStream<ServerResponse>.Continuation?
    }

    private static let capacity = 1_000
    /// The maximum size of bodies.
    private static let totalCapacity = 16 << 20

    /// The requests in order of arrival.
    private(set) var elements: [Element] = []
    private var bytes = 0

    /// - Returns: `false` if there is no room.
    mutating func append(
        _ visit: EmulatorCore.Visit,
        bySeconds seconds: Double,
        at now: Milliseconds,
        _ answer: AsyncStream<ServerResponse>.Continuation?
    ) -> Bool {
        let size = visit.request.body.count
        guard self.elements.count < Self.capacity, self.bytes + size <= Self.totalCapacity else { return false }
        let due = now + Milliseconds(Duration(boundedSeconds: seconds) / .milliseconds(1))
        self.elements.append(Element(visit: visit, since: now, due: due, answer: answer))
        self.bytes += size
        return true
    }

    /// Takes the matching request that is due first; of equal ones, the first to arrive.
    mutating func takeNext(where isMeant: (Element) -> Bool) -> Element? {
        let meant = self.elements.indices.filter { isMeant(self.elements[$0]) }
        guard let next = meant.min(by: { self.elements[$0].due < self.elements[$1].due }) else { return nil }
        self.bytes -= self.elements[next].visit.request.body.count
        return self.elements.remove(at: next)
    }

    mutating func removeAll() -> [Element] {
        defer { self = Self() }
        return self.elements
    }
}
