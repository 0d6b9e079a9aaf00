import Coordination
import MobileToken
import Synchronization

/// A membership whose nodes show each other their lists, as that for PostgreSQL does where sessions cannot listen: it reads every second.
final class SimulatedListSharing: ListSharingMembership {
    private struct State {
        var lists = SharedLists()
        var cursor = Database.ListCursor()
        var receiver: ListReceiver?
    }

    private struct NoLease: Error {}

    private let membership: SimulatedMembership
    private let driver: SimulatedDriver
    private let clock: SimulatedClock
    private let state = Mutex(State())
    private let writeSignal = Signal()
    private let turn = Signal(isRaised: true)

    init(_ driver: SimulatedDriver, clock: SimulatedClock) {
        self.membership = SimulatedMembership(driver, clock: clock)
        self.driver = driver
        self.clock = clock
    }

    var bucketCount: Int { self.membership.bucketCount }

    func holds(_ bucket: Int) -> Bool { self.membership.holds(bucket) }

    func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws {
        try await self.membership.run { assignment in
            await assign(assignment)
            await self.writeKeptLists()
        }
    }

    func recordPoll(_ listing: FleetListing) {
        if self.state.withLock({ $0.lists.recordPoll(listing) }) { self.writeSignal.raise() }
    }

    func lastListing(of activationID: String) -> FleetListing? { self.state.withLock { $0.lists.last(activationID) } }

    func follow(_ receiver: ListReceiver) async {
        self.state.withLock { state in
            state.lists.begin()
            state.cursor = Database.ListCursor()
            state.receiver = receiver
        }
        defer { self.state.withLock { $0.receiver = nil } }
        await withTaskGroup { group in
            group.addTask { await self.writeAll(receiver) }
            group.addTask { await self.readAll(receiver) }
        }
    }

    private func note(_ text: () -> String) { self.clock.simulator.note(text()) }

    private static func lengths(_ listings: [FleetListing]) -> String {
        listings.map { "\($0.activationID.prefix(4)): \($0.operations.count)" }.joined(separator: ", ")
    }

    private func writeAll(_ receiver: ListReceiver) async {
        while !Task.isCancelled, await self.writeSignal.wait() {
            do {
                try await self.writePending(receiver)
                try? await self.clock.sleep(for: .milliseconds(100))
            } catch {
                if let error = error as? MobileTokenError { await receiver.failed(error) }
                try? await self.clock.sleep(for: .seconds(1))
                self.writeSignal.raise()
            }
        }
    }

    private func writeKeptLists() async {
        guard let receiver = self.state.withLock({ $0.receiver }) else { return }
        do {
            try await self.writePending(receiver)
        } catch {
            self.writeSignal.raise()
        }
    }

    private func writePending(_ receiver: ListReceiver) async throws {
        guard await self.turn.wait() else { return }
        defer { self.turn.raise() }
        while true {
            guard let lease = self.driver.reliableLease else { throw NoLease() }
            let listings = self.state.withLock { $0.lists.takePending(200) }
            guard !listings.isEmpty else { return }
            do {
                let accepted = try await self.driver.asMember("write lists") { database, _ in
                    database.write(listings, as: lease)
                }
                self.note { "has written \(accepted.count) of \(listings.count) lists, \(Self.lengths(listings))" }
                let shared = self.state.withLock { $0.lists.wrote(listings, accepted: accepted) }
                for listing in shared { await receiver.show(listing) }
            } catch {
                self.state.withLock { $0.lists.recordFailure(listings) }
                throw error
            }
        }
    }

    private func readAll(_ receiver: ListReceiver) async {
        while !Task.isCancelled {
            do {
                try await self.read(receiver)
            } catch {
                guard !Task.isCancelled else { return }
                if let error = error as? MobileTokenError { await receiver.failed(error) }
                self.startOver()
            }
            try? await self.clock.sleep(for: .seconds(1))
        }
    }

    private func startOver() {
        self.state.withLock { state in
            state.cursor = Database.ListCursor()
            state.lists.startOver()
        }
    }

    private func read(_ receiver: ListReceiver) async throws {
        while true {
            let cursor = self.state.withLock { $0.cursor }
            let page = try await self.driver.asMember("read lists") { database, _ in database.lists(after: cursor) }
            guard let page else {
                self.startOver()
                continue
            }
            for (activationID, list) in page.lists {
                let listing = try FleetListing(activationID: activationID, parsing: list.json)
                let isNews = self.state.withLock { $0.lists.read(listing, version: list.version) }
                self.note { "has read the list \(Self.lengths([listing]))\(isNews ? ", which is news" : "")" }
                if isNews { await receiver.show(listing) }
            }
            let (gone, hasPending) = self.state.withLock { state in
                state.cursor = page.end
                return state.lists.finishedReading()
            }
            if hasPending { self.writeSignal.raise() }
            for listing in gone { await receiver.show(listing) }
            return
        }
    }
}
