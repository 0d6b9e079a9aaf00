import APIDescriptions
import ExactJSON
import MobileTokenCloud
import Testing

/// The calls of PowerAuth Cloud as values: a client writes what the server reads, and reads what servers of other releases write.
@Suite struct CloudCallTests {
    /// The members that the documentation of PowerAuth Cloud shows, one that it does not, and a status of a later release.
    private static let documented: JSONValue = [
        "operationId": "7", "userId": "alice", "status": "PAUSED", "operationType": "payment",
        "parameters": ["amount": "100"], "failureCount": 0, "maxFailureCount": 5, "timestampCreated": 1,
        "timestampExpires": 2,
        "later": ["a": 1],
    ]

    @Test func whatOnlyThisServerGivesMayBeMissing() throws {
        let operation = try CloudAPI.showOperation.output.readTolerantly(Self.documented)
        #expect(operation.id == "7" && operation.status.rawValue == "PAUSED" && operation.maximumFailureCount == 5)
        #expect(operation.data == nil && operation.applicationID == nil && operation.finalized == nil)
        #expect(operation.parameters == ["amount": "100"])
        #expect(throws: Schema.Objection.self) { try CloudAPI.showOperation.output.read(Self.documented) }
    }

    @Test func whatEveryServerGivesIsMissedByName() throws {
        let twice = #expect(throws: Schema.Objection.self) {
            try CloudAPI.showOperation.output.readTolerantly(
                JSONValue(parsing: #"{"operationId": "7", "status": "PENDING", "status": "APPROVED"}"#)
            )
        }
        #expect(twice?.message == "'status' is given twice")
        let missing = #expect(throws: Schema.Objection.self) {
            try CloudAPI.showOperation.output.readTolerantly(["operationId": "7"])
        }
        #expect(missing?.message == "'status' is missing")
        let number = #expect(throws: Schema.Objection.self) {
            try CloudAPI.showOperation.output.readTolerantly(["operationId": 7])
        }
        #expect(number?.message == "'operationId' is not a string")
    }

    @Test func theServerReadsWhatAClientAsksFor() throws {
        var request = CloudClient.NewOperation(userID: "alice")
        request.template = "payment"
        request.parameters = ["amount": "100", "currency": "EUR"]
        request.expiresMilliseconds = 1_767_225_600_000
        let call = CloudAPI.createOperation.call(request)
        #expect(
            call.body == [
                "userId": "alice", "template": "payment", "parameters": ["amount": "100", "currency": "EUR"],
                "timestampExpires": 1_767_225_600_000,
            ]
        )
        #expect(try CloudAPI.createOperation.input(call).json == request.json)
    }

    @Test func aPathAndAQueryHoldAnyIdentifier() throws {
        let call = CloudAPI.cancelOperation.call(("a/b ü", "lost & found"))
        #expect(CloudAPI.cancelOperation.path(of: call) == "/v2/operations/a%2Fb%20%C3%BC")
        #expect(call.query.map { "\($0.name)=\($0.value)" } == ["statusReason=lost & found"])
        #expect(call.body == nil)
    }

    @Test func parametersThatAreGivenTwiceHaveNoMeaning() throws {
        let twice: JSONValue = try JSONValue(parsing: #"{"parameters": {"amount": "1", "amount": "2"}}"#)
        let mistake = #expect(throws: Schema.Objection.self) { try CloudClient.NewOperation.form.read(twice) }
        #expect(mistake?.message == "'parameters' gives 'amount' twice")
    }
}
