import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing

@Suite(.timeLimit(.minutes(5))) struct OperationListTests {
    @Test func readsAListWithTheServersTime() throws {
        let operations = [ServerJSON.operation, ServerJSON.operation.with("id", "2")]
        let list = try OperationList(response: ServerJSON.list(operations))
        #expect(list.operations.count == 2)
        #expect(list.currentTimestamp?.timeIntervalSince1970 == 1_676_032_242)
        #expect(list.issues.isEmpty)
    }

    @Test func oneBrokenOperationOfAHundredCostsOnlyItself() throws {
        var operations = (0..<100).map { ServerJSON.operation.with("id", .string("\($0)")) }
        operations[41] = operations[41].with("formData", "title", nil)
        let list = try OperationList(response: ServerJSON.list(operations))
        #expect(list.operations.map(\.id) == (0..<100).filter { $0 != 41 }.map { "\($0)" })
        #expect(list.issues.map(\.path) == ["responseObject[41].formData.title"])
        #expect(list.issues.map(\.reason) == [.missing])
        #expect(list.unreadable == [.init(id: "41", issue: list.issues[0])])
        #expect(list.unreadable[0].description == "41: responseObject[41].formData.title: missing")
    }

    @Test(arguments: [nil, "operation", 5, true, [], [:]] as [JSONValue])
    func whatIsNoOperationIsAnIssueWithItsJSON(value: JSONValue) throws {
        let list = try OperationList(response: ServerJSON.list([value, ServerJSON.operation]))
        #expect(list.operations.count == 1)
        #expect(list.issues.count == 1)
        #expect(list.issues.first?.path.hasPrefix("responseObject[0]") == true)
    }

    @Test(
        arguments: UserOperationTests.required.filter {
            $0.count == 2 || !["formData", "allowedSignatureType"].contains($0[0])
        }
    )
    func aRequiredMemberOfAnotherTypeCostsItsOperationAlone(path: [String]) throws {
        for value in [nil, .null, 5, [], [:]] as [JSONValue?] {
            let list = try OperationList(
                response: ServerJSON.list([
                    UserOperationTests.operation(path, value), ServerJSON.operation.with("id", "2"),
                ])
            )
            #expect(list.operations.map(\.id) == ["2"])
            #expect(list.issues.map(\.path) == ["responseObject[0].\(path.joined(separator: "."))"])
        }
    }

    /// Signed bytes are never written anew.
    @Test func theJSONOfAnOperationIsTheBytesReceived() throws {
        let text = String(decoding: ServerJSON.operation.serialized(), as: UTF8.self).replacing("\":", with: "\" :\t")
        let answer = [UInt8](#"{"status":"OK","responseObject":[\#(text) , \#(text)]}"#)
        #expect(try OperationList(response: answer).operations.first?.json == [UInt8](text))
    }

    @Test func issuesInsideOperationsNameTheirPlaceInTheAnswer() throws {
        let broken = ServerJSON.operation(attributes: ["type": "NOTE", "id": "1", "label": "L"]).with("id", "2")
        let list = try OperationList(response: ServerJSON.list([ServerJSON.operation, broken]))
        #expect(list.operations.count == 2)
        #expect(list.issues.map(\.path) == ["responseObject[1].formData.attributes[0].note"])
        #expect(list.operations[1].issues == list.issues)
    }

    @Test(arguments: [nil, .null, 1_676_032_242_000, "2023-02-10T12:30:42", "now", [:]] as [JSONValue?])
    func anUnreadableTimeIsNil(timestamp: JSONValue?) throws {
        let list = try OperationList(response: ServerJSON.list([ServerJSON.operation], timestamp: timestamp))
        #expect(list.currentTimestamp == nil)
        #expect(list.operations.count == 1)
        #expect(list.issues.map(\.path) == (timestamp == nil || timestamp == .null ? [] : ["currentTimestamp"]))
    }

    @Test(arguments: [
        "", "null", "[]", "{}", #"{"status":"OK"}"#, #"{"status":"OK","responseObject":{"empty":true}}"#,
        #"{"status":"OK","responseObject":null}"#, #"{"status":"OK","responseObject":"list"}"#,
        #"{"responseObject":[]}"#, #"{"status":"ok","responseObject":[]}"#, #"{"status":"ERROR","responseObject":[]}"#,
        #"{"status":"O\u212A","responseObject":[]}"#, #"{"status":"OK","status":"ERROR","responseObject":[]}"#,
        #"{"status":"OK","responseObject":[],"responseObject":[]}"#, #"{"status":"OK","responseObject":[]"#, "<html>",
    ])
    func whatIsNoListIsAnInvalidResponse(answer: String) {
        let error = #expect(throws: MobileTokenError.self) { try OperationList(response: [UInt8](answer)) }
        #expect(error?.code.description == "invalidResponse")
    }

    @Test func invalidUTF8IsAnInvalidResponse() {
        var answer = ServerJSON.list([ServerJSON.operation])
        answer[answer.count / 2] = 0xFF
        #expect(throws: MobileTokenError.self) { try OperationList(response: answer) }
    }

    @Test func readsTenThousandOperations() throws {
        let operations = (0..<10_000).map { ServerJSON.operation.with("id", .string("\($0)")) }
        let list = try OperationList(response: ServerJSON.list(operations))
        #expect(list.operations.count == 10_000)
        #expect(list.operations.last?.name == "authorize_payment")
        #expect(list.issues.isEmpty)
    }

    @Test func reportsAHundredOfTenThousandBrokenOperationsAndCountsTheRest() throws {
        let list = try OperationList(response: ServerJSON.list([JSONValue](repeating: 1, count: 10_000)))
        #expect(list.operations.isEmpty)
        #expect(list.issues.map(\.path) == (0..<100).map { "responseObject[\($0)]" })
        #expect(list.omittedIssueCount == 9_900)
    }

    @Test(arguments: [true, false]) func moreThanTenThousandOperationsAreNoList(readable: Bool) throws {
        let operations = (0...10_000).map { readable ? ServerJSON.operation.with("id", .string("\($0)")) : 1 }
        let error = #expect(throws: MobileTokenError.self) {
            try OperationList(response: ServerJSON.list(operations))
        }
        #expect(error?.code == .invalidResponse)
    }

    /// An operation that has issues never looks as if it had none, however many there were before it.
    @Test func aLateOperationStillTellsItsOwnIssues() throws {
        let junk = (0..<200).map { _ in JSONValue.number(JSONNumber(1)) }
        let broken = ServerJSON.operation(attributes: ["type": "NOTE", "id": "1", "label": "L"])
        let list = try OperationList(response: ServerJSON.list(junk + [broken, ServerJSON.operation.with("id", "2")]))
        #expect(list.issues.count == 100)
        #expect(list.omittedIssueCount == 101)
        #expect(list.operations.map(\.issues.count) == [1, 0])
        #expect(list.operations.first?.issues.first?.path == "responseObject[200].formData.attributes[0].note")
    }

    @Test func listsInsideAnOperationHaveALimit() throws {
        let attributes = [JSONValue](repeating: ["type": "HEADING", "id": "1", "label": "L"], count: 1_001)
        let operation = ServerJSON.operation.with("formData", "attributes", .array(attributes))
        let read = try #require(OperationList(response: ServerJSON.list([operation])).operations.first)
        #expect(read.formData.attributes.isEmpty)
        #expect(read.issuePaths == ["responseObject[0].formData.attributes"])
    }

    /// Eight megabytes of zeros, which come as eight kilobytes when compressed.
    @Test func zerosCostNoMoreThanTheyMust() throws {
        let zeros = [UInt8](#"{"status":"OK","responseObject":[0\#(String(repeating: ",0", count: 4 << 20))]}"#)
        let clock = ContinuousClock()
        let duration = clock.measure {
            let error = #expect(throws: MobileTokenError.self) { try OperationList(response: zeros) }
            #expect(error?.code == .invalidResponse)
        }
        #expect(duration < .seconds(30))  // a minute and more when each is an issue, and 778 MB
    }

    @Test func withstandsBombs() throws {
        let megabyte = String(repeating: "x", count: 1_000_000)
        let long = ServerJSON.operation.with("formData", "message", .string(megabyte))
        #expect(try OperationList(response: ServerJSON.list([long])).operations.first?.formData.message == megabyte)
        let bomb = #"{"status":"OK","responseObject":"# + String(repeating: "[", count: 1_000_000)
        #expect(throws: MobileTokenError.self) { try OperationList(response: [UInt8](bomb)) }
        let huge = #"{"status":"OK","responseObject":[1e999999999999999999999999,-0,1E400]}"#
        #expect(try OperationList(response: [UInt8](huge)).issues.count == 3)
    }

    @Test func oneOperationIsReadFromItsAnswer() throws {
        #expect(try UserOperation(response: ServerJSON.object(ServerJSON.operation)).name == "authorize_payment")
        for object: JSONValue in [nil, [], [:], "text"] {
            let error = #expect(throws: MobileTokenError.self) {
                try UserOperation(response: ServerJSON.object(object))
            }
            #expect(error?.code.description == "invalidResponse")
        }
    }

    @Test func errorsNameThePlaceAndNotTheContent() {
        let json = ServerJSON.object(ServerJSON.operation.with("operationCreated", "secret-looking"))
        let error = #expect(throws: MobileTokenError.self) { try UserOperation(response: json) }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("responseObject.operationCreated"))
        #expect(!text.contains("secret-looking"))
    }

    // MARK: Fuzzing

    @Test func mutationsOfAGoodListGiveAListOrAnError() {
        var random = SeededGenerator()
        let good = ServerJSON.list([
            ServerJSON.operation(
                ui: [
                    "preApprovalScreens": [["type": "INFO", "heading": "H", "message": "M", "elements": []]],
                    "postApprovalScreen": ["type": "GENERIC", "heading": "H", "message": "M"],
                ]
            ),
            ServerJSON.operation(attributes: [
                "type": "AMOUNT", "id": "1", "label": "L", "amount": 1.5, "currency": "CZK",
            ]).with("id", "2"),
        ])
        var accepted = 0
        for _ in 0..<1_500 {
            var answer = good
            for _ in 0...Int.random(in: 0...2, using: &random) {
                let index = Int.random(in: 0..<answer.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: answer[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
                case 1: answer.remove(at: index)
                default: answer.insert(UInt8.random(in: 0...255, using: &random), at: index)
                }
            }
            guard let list = try? OperationList(response: answer) else { continue }
            accepted += 1
            // Whatever was taken has all that a decision needs, and everything else is accounted for.
            #expect(list.operations.allSatisfy { !$0.id.isEmpty })
            #expect(list.operations.count + list.issues.count >= 2)
        }
        #expect(accepted > 0)
    }

    @Test func aListThatIsRememberedIsTheListThatIsRead() throws {
        var random = SeededGenerator()
        let broken = ServerJSON.operation.with("formData", "title", nil)
        let halfBroken = ServerJSON.operation(attributes: ["type": "NOTE", "id": "1", "label": "L"])
        var operations: [JSONValue] = []
        var identifiers = (0...).lazy.map { JSONValue.string("\($0)") }.makeIterator()
        for _ in 0..<150 {
            for _ in 0...Int.random(in: 0...3, using: &random) {
                let index = Int.random(in: 0...operations.count, using: &random)
                switch Int.random(in: 0...5, using: &random) {
                case 0, 1: operations.insert(ServerJSON.operation.with("id", identifiers.next()), at: index)
                case 2: operations.insert([broken, halfBroken, 5].randomElement(using: &random) ?? nil, at: index)
                case 3 where index < operations.count: operations.remove(at: index)
                case 4 where index < operations.count: operations[index] = operations[index].with("name", "login")
                default: operations.shuffle(using: &random)
                }
            }
            let answer = ServerJSON.list(operations)
            let alone = try OperationList(response: answer)
            let (list, comparison) = try OperationList.read(answer)
            #expect(list == alone)
            #expect(list.operations.map(\.json) == alone.operations.map(\.json))
            #expect(comparison.match(answer) != nil)
        }
    }

    @Test func anIdentifierThatCameBeforeIsReportedInItsPlace() throws {
        let broken = ServerJSON.operation.with("id", 5)
        let operation = ServerJSON.operation
        let answer = ServerJSON.list([broken, operation, operation.with("name", "login"), operation])
        let (list, _) = try OperationList.read(answer)
        #expect(list.operations == [])
        #expect(list.issues.map(\.path) == [0, 2, 3, 1].map { "responseObject[\($0)].id" })
        #expect(list.issues.dropFirst().map(\.reason) == [.repeated, .repeated, .repeated])
        #expect(list.unreadable.map(\.id) == [nil, operation["id"]?.string, operation["id"]?.string])
    }

    @Test func anotherFormOfTheSameLetterIsAnotherIdentifier() throws {
        let operations = ["é", "e\u{301}"].map { ServerJSON.operation.with("id", .string($0)) }
        let list = try OperationList(response: ServerJSON.list(operations))
        #expect(list.operations.count == 2 && list.issues.isEmpty)
    }

    @Test func halfASurrogatePairInWhatDecidesCostsTheOperation() throws {
        let text = String(decoding: ServerJSON.list([ServerJSON.operation]), as: UTF8.self)
        let broken = text.replacing("A1*A100CZK", with: #"A1\ud800"#)
        #expect(try OperationList(response: [UInt8](broken)).issues.map(\.path) == ["responseObject[0].data"])
    }

    @Test func anOperationThatCameTwiceAlikeStands() throws {
        let operation = ServerJSON.operation
        let list = try OperationList(response: ServerJSON.list([operation, operation]))
        #expect(list.operations.count == 1)
        #expect(list.issues.map(\.path) == ["responseObject[1].id"])
        #expect(list.unreadable.isEmpty)
    }

    /// Whichever is read, a policy may be meant to see the other one.
    @Test func anOperationThatCameTwiceWithAnotherContentIsUnreadable() throws {
        let operation = ServerJSON.operation
        let other = ServerJSON.operation.with("id", "other")
        let twins: [JSONValue] = [
            operation.with("data", "A1*A1CZK"), operation.with("formData", "title", "T"),
            operation.with("formData", nil),
            operation.with("operationExpires", 5), operation.with("status", "APPROVED"),
        ]
        for twin in twins {
            for pair in [[operation, twin], [twin, operation]] {
                let list = try OperationList(response: ServerJSON.list(pair + [other]))
                #expect(list.operations.map(\.id) == ["other"])
                #expect(list.unreadable.count == 2)
                #expect(list.unreadable.allSatisfy { $0.id == operation["id"]?.string })
            }
        }
    }

    @Test(arguments: [
        "1e-9223372036854775808", "1e9223372036854775808", "-1e-9223372036854775807", "1e-1000001",
        String(repeating: "9", count: 400),
    ])
    func anAmountBeyondAllBoundsCostsOnlyItsAttribute(amount: String) throws {
        let attribute = #"{"type":"AMOUNT","id":"1","label":"L","amount":\#(amount),"currency":"EUR"}"#
        let operation = ServerJSON.operation(attributes: try JSONValue(parsing: attribute))
        let list = try OperationList(response: ServerJSON.list([operation, ServerJSON.operation.with("id", "2")]))
        #expect(list.operations.count == 2)
        #expect(list.issues.map(\.path) == ["responseObject[0].formData.attributes[0].amount"])
    }
}
