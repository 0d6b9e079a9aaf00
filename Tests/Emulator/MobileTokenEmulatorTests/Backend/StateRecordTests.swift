import ExactJSON
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The records that a data file is given after each request must be enough to put the state together again, and no more.
@Suite struct StateRecordTests {
    /// The content of a data file.
    private struct Rows {
        private(set) var records: [StateKey: StateRecord] = [:]
        private(set) var writes = 0

        init(_ state: BackendState) throws { for key in state.keys { self.records[key] = try state.record(key) } }

        mutating func follow(_ state: inout BackendState) throws {
            for key in state.takeChanges() {
                self.records[key] = try state.record(key)
                self.writes += 1
            }
        }
    }

    private static func expectSameState(_ rows: Rows, as fixture: BackendFixture) throws {
        let configuration = BackendFixture.configuration
        let records = rows.records.values.shuffled()  // a table has no order of its own
        let backend = try Backend(state: BackendState(records: records), configuration.backend)
        #expect(try backend.exported() == fixture.backend.exported())
        #expect(backend.activations.map(\.id) == fixture.backend.activations.map(\.id))
        #expect(backend.operations(at: fixture.now) == fixture.backend.operations(at: fixture.now))
        #expect(backend.messages == fixture.backend.messages)
    }

    @Test func whatChangesMakesTheWholeState() throws {
        var fixture = try BackendFixture()
        var rows = try Rows(fixture.backend.state)
        func follow(_ fixture: inout BackendFixture) throws {
            try rows.follow(&fixture.backend.state)
            try Self.expectSameState(rows, as: fixture)
        }
        try follow(&fixture)
        var alice = try fixture.deviceWithToken()
        let bob = try fixture.deviceWithToken(user: "bob", version: .v3_1)
        try follow(&fixture)
        let payment = try fixture.operation("payment")
        _ = try fixture.operation("login")
        let free = try fixture.operation(user: nil)
        _ = try fixture.operation("login", user: "bob")
        try follow(&fixture)
        // Claimed operations join their user's in the order of the claims.
        let claim: JSONValue = ["requestObject": ["id": .string(free.id)]]
        #expect(alice.sendWithToken("/api/auth/token/app/operation/detail/claim", claim, in: &fixture).status == 200)
        try follow(&fixture)
        #expect(try alice.authorize(payment, in: &fixture).status == 200)
        #expect(alice.operations(in: &fixture).count == 2)
        try follow(&fixture)
        for number in 0..<3 {
            let message: JSONValue = [
                "userId": "alice", "subject": .string("\(number)"), "summary": "b", "body": "c",
            ]
            #expect(fixture.cloud("POST", "/v2/inbox/messages", message).status == 200)
        }
        #expect(alice.sendWithToken("/api/inbox/message/read-all", in: &fixture).status == 200)
        let push: JSONValue = ["requestObject": ["platform": "fcm", "token": "t"]]
        #expect(bob.sendWithToken("/api/push/device/register/token", push, in: &fixture).status == 200)
        try follow(&fixture)
        #expect(fixture.cloud("POST", "/admin/applications", ["id": "second\u{0}é"]).status == 200)
        #expect(fixture.cloud("DELETE", "/v2/registrations/\(bob.activationID)").status == 200)
        try follow(&fixture)
        // All that has expired is swept away, and the sweep is followed too.
        fixture.advance(seconds: 8000)
        alice.forgetTemporaryKeys()
        try alice.createToken(in: &fixture)
        _ = alice.operations(in: &fixture)
        try follow(&fixture)
    }

    @Test func whatChangesNothingWritesNothing() throws {
        var (fixture, device) = try BackendFixture.withToken()
        _ = try fixture.operation()
        var rows = try Rows(fixture.backend.state)
        _ = fixture.backend.state.takeChanges()
        #expect(fixture.send("GET", "/nothing").status == 404)
        #expect(fixture.send("/pa/v3/status", json: [:]).status == 200)
        #expect(fixture.cloud("GET", "/v2/operations").status == 200)
        #expect(fixture.cloud("GET", "/v2/registrations/\(device.activationID)").status == 200)
        #expect(fixture.cloud("POST", "/v2/operations", ["template": "no such template"]).status == 400)
        #expect(fixture.send("/api/inbox/count", json: [:]).status == 401)
        try rows.follow(&fixture.backend.state)
        #expect(rows.writes == 0)
    }

    @Test func aFileWithoutItsRootIsRefused() throws {
        let fixture = try BackendFixture()
        let state = fixture.backend.state
        let records = try state.keys.compactMap { try state.record($0) }
        #expect(throws: (any Error).self) { try BackendState(records: records.filter { $0.key != .root }) }
        #expect(throws: (any Error).self) { try BackendState(records: records.filter { $0.key == .root }) }
        #expect(try BackendState(records: records).keys.count == records.count)
    }

    @Test func aTableKnowsWhatChangedAndKeepsTheOrder() {
        var table = Table<String>()
        (table["b"], table["a"], table["c"]) = ("1", "2", "3")
        table["b"] = "4"
        #expect(table.keysInOrder == ["b", "a", "c"])
        #expect(table.takeChanges() == ["a", "b", "c"])
        #expect(!table.hasChanges)
        table["nothing"] = nil
        table.update("nothing") { $0 = "x" }
        #expect(!table.hasChanges)
        table["a"] = nil
        table.update("c") { $0 += "!" }
        #expect(table.takeChanges() == ["a", "c"])
        table["a"] = "5"
        #expect(table.keysInOrder == ["b", "c", "a"])
        // Another spelling of a key is the same key, under the name that is known.
        table["é"] = "6"
        _ = table.takeChanges()
        table["e\u{301}"] = "7"
        #expect(table.takeChanges().map { Array($0.utf8) } == [Array("é".utf8)])
        table.keepFirst(1) { $0 > $1 }
        #expect(Array(table.values) == ["7"])
        #expect(table.takeChanges().count == 3)
    }
}
