import Foundation
import MobileToken
import PowerAuth
import Testing

/// A list on its way from one process to another.
struct FleetListingTests {
    private let date = Date(timeIntervalSince1970: 1_750_000_000)

    @Test func aListArrivesAsItWas() throws {
        let json =
            #"{"id":"a","name":"login","data":"A2","operationCreated":"2025-06-15T00:00:00+0000","#
            + #""operationExpires":"2025-06-15T00:05:00+0000","allowedSignatureType":{"type":"1FA"},"#
            + #""formData":{"title":"","message":"","attributes":[]},"playSound":true,"amount":1.50}"#
        let operations = [
            try UserOperation(parsing: Array(json.utf8)),
            UserOperation(id: "b", name: "login", data: "A2", created: self.date),
        ]
        let listing = FleetListing(activationID: "1", operations: operations, serverDate: self.date)
        let read = try FleetListing(activationID: "1", parsing: listing.json)
        #expect(read == listing)
        // Not a digit is lost of what only this bank sends.
        #expect(read.operations.map(\.json) == operations.map(\.json))
    }

    @Test func anEmptyListArrives() throws {
        let listing = FleetListing(activationID: "1", operations: [], serverDate: .distantPast)
        #expect(try FleetListing(activationID: "1", parsing: listing.json).operations == [])
    }

    @Test(arguments: ["", "[]", #"{"status":"OK","responseObject":[]}"#]) func whatIsNoListIsRefused(json: String) {
        let error = #expect(throws: MobileTokenError.self) {
            try FleetListing(activationID: "1", parsing: Array(json.utf8))
        }
        #expect(error?.code == .invalidResponse)
    }
}
