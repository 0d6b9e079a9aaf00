package import MobileToken
import PowerAuth

/// The database as the exchange of lists asks it.
package protocol ListDatabase: Sendable {
    /// The number of lists that are written at once.
    var pageSize: Int { get }

    /// Writes lists of activations whose buckets a node owns, and of no others.
    ///
    /// - Returns: The activations whose lists were written, each with the place where its list can be read.
    func write(
        _ listings: [FleetListing],
        as lease: NodeLease
    ) async throws -> [(activationID: String, place: ListPlace)]

    /// Tells the nodes that listen that there is something to read.
    func notifyReaders() async throws

    /// Reads lists that were written by a transaction that may have been under way at the last reading, or began since.
    func read(after cursor: ListCursor) async throws -> ListPage

    /// Waits until there may be something to read.
    func waitForNews() async throws
}

/// The result of one reading.
package struct ListPage: Sendable {
    package struct Row: Sendable {
        let place: ListPlace
        /// `nil` when it cannot be opened: one list is no other one's trouble, and is shown when it changes next.
        let listing: FleetListing?

        package init(place: ListPlace, listing: FleetListing?) {
            self.place = place
            self.listing = listing
        }
    }

    let horizon: ListHorizon
    let rows: [Row]
    /// Indicates that another page may follow.
    let isFull: Bool

    package init(horizon: ListHorizon, rows: [Row], isFull: Bool) {
        self.horizon = horizon
        self.rows = rows
        self.isFull = isFull
    }
}
