import ExactJSON
package import Foundation
import PowerAuth

/// A membership whose processes show each other the lists that they poll, so that the streams of every process show all of
/// them.
package protocol ListSharingMembership: FleetMembership {
    /// Notes the list of an activation that this process polls. Called after each poll and each change; a list that is the same
    /// as before costs nothing. Must not block.
    func recordPoll(_ listing: FleetListing)

    /// Returns the list of an activation that is shared, an empty one where there is none; `nil` while that is not known.
    func lastListing(of activationID: String) -> FleetListing?

    /// Shows the lists that processes share until the calling task is canceled: first those that are not empty, then each that
    /// has changed.
    func follow(_ receiver: ListReceiver) async
}

/// The receiver of the lists that processes share.
package struct ListReceiver: Sendable {
    /// Called with each list, one after the other.
    package let show: @Sendable (FleetListing) async -> Void
    /// Called with what keeps lists from being read or written, which is tried again.
    package let failed: @Sendable (MobileTokenError) async -> Void

    package init(
        show: @escaping @Sendable (FleetListing) async -> Void,
        failed: @escaping @Sendable (MobileTokenError) async -> Void
    ) {
        self.show = show
        self.failed = failed
    }
}

/// The list of one activation's operations, as the process that polls it last saw it.
package struct FleetListing: Sendable, Equatable {
    package let activationID: String
    package let operations: [UserOperation]
    /// The server's time, which tells the expired from those that left otherwise.
    package let serverDate: Date

    package init(activationID: String, operations: [UserOperation], serverDate: Date) {
        self.activationID = activationID
        self.operations = operations
        self.serverDate = serverDate
    }

    /// Reads ``json``.
    ///
    /// - Throws: `invalidResponse`.
    package init(activationID: String, parsing json: [UInt8]) throws(MobileTokenError) {
        let list = try OperationList(response: json)
        guard let date = list.currentTimestamp else { throw .unreadableResponse("The list has no date") }
        self.init(activationID: activationID, operations: list.operations, serverDate: date)
    }

    /// The list in the form in which a server would send it: each operation as it came.
    package var json: [UInt8] {
        var bytes = Array(#"{"status":"OK","currentTimestamp":"\#(ISO8601.string(from: self.serverDate))","#.utf8)
        bytes += Array(#""responseObject":["#.utf8)
        for (index, operation) in self.operations.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes += operation.json
        }
        return bytes + Array("]}".utf8)
    }
}
