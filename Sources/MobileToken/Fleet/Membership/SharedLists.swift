package import Basics
import Foundation

/// The lists that processes share as one of them knows them, and those that it has to write. It decides; the membership reads and
/// writes.
package struct SharedLists: Sendable {
    /// A list that is shared, and its version: each write of a list makes a greater one.
    private struct Known {
        let listing: FleetListing
        var version: Int64
    }

    /// The lists that are shared, as far as they were read or written.
    private var known: [ExactString: Known] = [:]
    /// The lists that this process polled since, and that are not shared yet.
    private var pending: [ExactString: FleetListing] = [:]
    /// The lists that are being written.
    private var writing: [ExactString: FleetListing] = [:]
    /// The lists that were not found yet while all are read from the beginning.
    private var unconfirmed: Set<ExactString>?
    /// The lists whose last write may or may not have been carried out: others may see a state that is not known here.
    private var uncertain: Set<ExactString> = []
    /// Indicates that everything was read once.
    private var isComplete = false

    package init() {}

    /// Everything is read anew, and is news. What waits to be written goes on waiting.
    package mutating func begin() {
        self.pending.merge(self.writing) { newer, _ in newer }
        (self.known, self.writing, self.unconfirmed, self.isComplete) = ([:], [:], nil, false)
    }

    /// The list that is shared, an empty one where there is none; `nil` while that is not known, and while this process has a newer one
    /// that waits to be written.
    package func last(_ activationID: String) -> FleetListing? {
        let id = ExactString(activationID)
        guard self.pending[id] == nil, self.writing[id] == nil else { return nil }
        if let known = self.known[id] { return known.listing }
        guard self.isComplete else { return nil }
        // The server's time is of no use to a list without operations.
        return FleetListing(activationID: activationID, operations: [], serverDate: .distantPast)
    }

    private mutating func learn(_ listing: FleetListing, version: Int64) {
        let id = ExactString(listing.activationID)
        // Lists that are read or written may come to be known in another order than that of their versions.
        if (self.known[id]?.version ?? .min) <= version { self.known[id] = Known(listing: listing, version: version) }
    }

    // MARK: Polling

    /// This process polled a list.
    ///
    /// - Returns: `true` when there is something to be written.
    package mutating func recordPoll(_ listing: FleetListing) -> Bool {
        let id = ExactString(listing.activationID)
        let newest = self.pending[id] ?? self.writing[id] ?? self.known[id]?.listing
        guard newest?.operations != listing.operations else { return false }
        // There is nothing to take back.
        if newest == nil, self.isComplete, listing.operations.isEmpty, !self.uncertain.contains(id) { return false }
        self.pending[id] = listing
        return self.isComplete
    }

    // MARK: Writing

    /// Takes lists to be written.
    package mutating func takePending(_ limit: Int) -> [FleetListing] {
        guard self.isComplete else { return [] }
        var taken: [FleetListing] = []
        while taken.count < limit, let (id, listing) = self.pending.popFirst() {
            if (self.known[id]?.listing.operations ?? []) == listing.operations, !self.uncertain.contains(id) {
                continue
            }
            self.writing[id] = listing
            taken.append(listing)
        }
        return taken
    }

    /// Lists were written, or refused since another process owns them now.
    ///
    /// - Parameter accepted: The versions of those that were written.
    /// - Returns: The lists that are shared by now, an empty one where there is none, to be shown where another process polls: this one
    ///   may show what was refused, or another one has written since, which would be no news any more.
    package mutating func wrote(_ listings: [FleetListing], accepted: [ExactString: Int64]) -> [FleetListing] {
        listings.map { listing in
            let id = ExactString(listing.activationID)
            self.writing[id] = nil
            self.uncertain.remove(id)
            if let version = accepted[id] {
                self.learn(listing, version: version)
                // The database that all is read from may be another one already.
                self.unconfirmed?.insert(id)
            }
            return self.known[id]?.listing
                ?? FleetListing(activationID: listing.activationID, operations: [], serverDate: listing.serverDate)
        }
    }

    /// Nobody knows whether lists were written. They are written again, unless there are newer ones.
    package mutating func recordFailure(_ listings: [FleetListing]) {
        for listing in listings {
            let id = ExactString(listing.activationID)
            self.writing[id] = nil
            self.uncertain.insert(id)
            if self.pending[id] == nil { self.pending[id] = listing }
        }
    }

    // MARK: Reading

    /// A list was read, which its version tells from those before.
    ///
    /// - Returns: `true` when the list is another one, and not the one that is just being written: its commit may be seen before
    ///   its end is known.
    package mutating func read(_ listing: FleetListing, version: Int64) -> Bool {
        let id = ExactString(listing.activationID)
        let before = self.known[id]?.listing.operations ?? []
        // Read from the beginning, it is what the database has, even where this process has written a newer one since: a database that
        // went back has lost that, and one that has not will show it next.
        if self.unconfirmed != nil { self.known[id] = nil }
        self.learn(listing, version: version)
        self.unconfirmed?.remove(id)
        return self.writing[id]?.operations != listing.operations
            && (self.known[id]?.listing.operations ?? []) != before
    }

    /// Everything will be read from the beginning. The database may be one that went back, and its versions with it.
    package mutating func startOver() {
        self.unconfirmed = Set(self.known.keys)
        for id in self.known.keys { self.known[id]?.version = .min }
    }

    /// All was read that there is.
    ///
    /// - Returns: The lists that are there no more, without operations; and whether something waits to be written.
    package mutating func finishedReading() -> (gone: [FleetListing], hasPending: Bool) {
        let ids = self.unconfirmed.take() ?? []
        self.isComplete = true
        let gone = ids.compactMap { id in
            self.known.removeValue(forKey: id).map {
                FleetListing(activationID: id.string, operations: [], serverDate: $0.listing.serverDate)
            }
        }
        return (gone, !self.pending.isEmpty)
    }
}
