import Basics
import MobileToken

/// The lists of the database as they are known, and those to be written. It decides; ``ListExchange`` reads and writes.
struct SharedLists: Sendable {
    /// The lists that the database holds, as far as they were read or written.
    private var known: [ExactString: FleetListing] = [:]
    /// The lists that this node polled since, and the database lacks.
    private var pending: [ExactString: FleetListing] = [:]
    /// The lists that are being written.
    private var writing: [ExactString: FleetListing] = [:]
    /// The lists that were not found yet in a database that is read from the beginning.
    private var unconfirmed: Set<ExactString>?
    /// Indicates that everything was read once.
    private var isComplete = false

    /// Everything is read anew, and is news. What waits to be written goes on waiting.
    mutating func begin() {
        self.pending.merge(self.writing) { newer, _ in newer }
        (self.known, self.writing, self.unconfirmed, self.isComplete) = ([:], [:], nil, false)
    }

    func last(_ activationID: String) -> FleetListing? { self.known[ExactString(activationID)] }

    // MARK: Polling

    /// This node polled a list.
    ///
    /// - Returns: `true` when there is something to be written.
    mutating func recordPoll(_ listing: FleetListing) -> Bool {
        let id = ExactString(listing.activationID)
        let newest = self.pending[id] ?? self.writing[id] ?? self.known[id]
        guard newest?.operations != listing.operations else { return false }
        // There is nothing to take back.
        if newest == nil, self.isComplete, listing.operations.isEmpty { return false }
        self.pending[id] = listing
        return self.isComplete
    }

    // MARK: Writing

    /// Takes lists to be written.
    mutating func takePending(_ limit: Int) -> [FleetListing] {
        guard self.isComplete else { return [] }
        var taken: [FleetListing] = []
        while taken.count < limit, let (id, listing) = self.pending.popFirst() {
            if (self.known[id]?.operations ?? []) == listing.operations { continue }
            self.writing[id] = listing
            taken.append(listing)
        }
        return taken
    }

    /// Lists were written, or refused since another node owns them now.
    mutating func wrote(_ listings: [FleetListing], accepted: Set<ExactString>) {
        for listing in listings {
            let id = ExactString(listing.activationID)
            self.writing[id] = nil
            if accepted.contains(id) { self.known[id] = listing }
        }
    }

    /// Nobody knows whether lists were written. They are written again, unless there are newer ones.
    mutating func recordFailure(_ listings: [FleetListing]) {
        for listing in listings {
            let id = ExactString(listing.activationID)
            self.writing[id] = nil
            self.known[id] = nil
            if self.pending[id] == nil { self.pending[id] = listing }
        }
    }

    // MARK: Reading

    /// A list was read.
    ///
    /// - Returns: `true` when the list is another one, and not the one that is just being written: its commit may be seen before
    ///   its end is known.
    mutating func read(_ listing: FleetListing) -> Bool {
        let id = ExactString(listing.activationID)
        self.unconfirmed?.remove(id)
        defer { self.known[id] = listing }
        guard self.writing[id]?.operations != listing.operations else { return false }
        return (self.known[id]?.operations ?? []) != listing.operations
    }

    /// Everything will be read from the beginning.
    mutating func startOver() {
        self.unconfirmed = Set(self.known.keys)
    }

    /// All was read that there is.
    ///
    /// - Returns: The lists that are there no more, without operations; and whether something waits to be written.
    mutating func finishedReading() -> (gone: [FleetListing], hasPending: Bool) {
        let ids = self.unconfirmed.take() ?? []
        self.isComplete = true
        let gone = ids.compactMap { id in
            self.known.removeValue(forKey: id).map {
                FleetListing(activationID: $0.activationID, operations: [], serverDate: $0.serverDate)
            }
        }
        return (gone, !self.pending.isEmpty)
    }
}
