import EmulatorMessages
import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

@Suite struct OperationHistoryTests {
    private func append(_ kind: OperationNote.Kind, _ id: String, activation: String? = nil, _ journal: inout Journal) {
        var reply = Reply(status: 200)
        reply.response.activationID = activation
        reply.inspection.note(kind, id)
        let time = Date(timeIntervalSince1970: Double(journal.lastID))
        _ = journal.append(ReceivedRequest(method: "POST", path: "/x"), reply: reply, fault: nil, at: time)
    }

    @Test func whatADeviceDoesAgainAndAgainIsOneMoment() {
        var journal = Journal()
        self.append(.created, "o", &journal)
        for _ in 1...5 { self.append(.shown, "o", activation: "a", &journal) }
        self.append(.shown, "o", activation: "b", &journal)
        let moments = journal.moments(ofOperation: "o")
        #expect(moments.map(\.kind) == [.created, .shown, .shown])
        #expect(moments.map(\.count) == [1, 5, 1])
        #expect(moments[1].requestID == 2 && moments[1].activationID == "a")
        #expect(moments[1].last.timeIntervalSince(moments[1].time) == 4)
        #expect(journal.moments(ofOperation: "other").isEmpty)
        journal.removeAll()
        #expect(journal.moments(ofOperation: "o").isEmpty)
    }

    @Test func itGoesBackAsFarAsTheJournal() {
        var journal = Journal(capacity: 3)
        for _ in 1...5 { self.append(.approvalRefused, "o", &journal) }
        self.append(.approved, "o", &journal)
        let moments = journal.moments(ofOperation: "o")
        #expect(moments.map(\.kind) == [.approvalRefused, .approvalRefused, .approved])
        #expect(moments.map(\.requestID) == [4, 5, 6])
    }

    @Test func ofAReasonTheBeginningIsKept() {
        let note = OperationNote(kind: .canceled, operationID: "x", reason: String(repeating: "r", count: 5000))
        #expect(note.reason?.utf8.count == 1024)
    }

    // MARK: Over HTTP

    @Test func aPendingOperationSaysWhatItWaitsFor() async throws {
        try await withEmulator { emulator async throws in
            await emulator.clock.freeze()
            func awaited(_ user: String?) async throws -> String? {
                let made = try await emulator.cloud.createOperation("login", userID: user)
                try await emulator.settle(within: .seconds(60))
                let history = try await emulator.send("GET", "/_emulator/operations/\(made.id)/history")
                return try JSONValue(parsing: history.body)["awaited"]?.string
            }
            #expect(try await awaited("alice") == "alice has no registration that may decide it")
            #expect(try await awaited(nil) == "nobody has claimed it")
            try await emulator.cloud.register(userID: "alice")
            #expect(try await awaited("alice") == "the registration of alice is CREATED")
            _ = try await emulator.makeActivation(user: "alice", password: "1234")
            #expect(try await awaited("alice") == "a client of alice has not decided it")
            try await emulator.makeDevice(userID: "alice", name: "Hers", rule: .init(.never))
            #expect(try await awaited("alice") == "no rule decides it; Hers decides by hand")
            try await emulator.makeDevice(userID: "bob", name: "His", rule: .init(.approve, after: 30))
            #expect(try await awaited("bob") == "His decides in 30.0 s of the server's clock: approve")
            try await emulator.makeDevice(userID: "carol", name: "Carol's", rule: .init(.wrongPassword))
            #expect(try await awaited("carol") == "Carol's has tried: The password is wrong")
            try await emulator.makeDevice(userID: "dave")
            #expect(try await awaited("dave") == nil)
        }
    }

    @Test func theLifeOfAnOperationIsTold() async throws {
        try await withEmulator { emulator async throws in
            await emulator.clock.freeze()
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let operations = OperationsService(activation: activation)
            let made = try await emulator.cloud.createOperation("login", userID: "alice")
            let listed = try #require(try await operations.operations().first)
            await #expect(throws: MobileTokenError.self) {
                try await operations.authorize(listed, with: .possessionAndKnowledge(password: "0000"))
            }
            try await operations.authorize(listed, with: .possessionAndKnowledge(password: "1234"))

            let moments = await emulator.history(ofOperation: made.id)
            #expect(moments.map(\.kind) == [.created, .shown, .approvalRefused, .approved])
            #expect(moments.dropFirst().allSatisfy { $0.activationID == activation.activationID })
            #expect(moments[2].factors == "possession_knowledge")
            #expect(moments[2].reason?.contains("knowledge does not match") == true)
            #expect(moments[2].finding == "The password is wrong")
            // Each leads to its request.
            for moment in moments {
                let id = try #require(moment.requestID)
                let entry = try await emulator.send("GET", "/_emulator/journal/\(id)")
                #expect(entry.status == 200 && entry.text.contains(made.id))
            }
            let refused = try #require(await emulator.journal().first { $0.id == moments[2].requestID })
            let code = try #require(refused.code)
            #expect(!code.isRight && code.lookAhead == 20 && code.stepsAhead == 0)
            #expect(code.components?.map(\.matches) == [true, false])
            #expect(code.components?.map(\.factor) == ["possession", "knowledge"])
            #expect(refused.operationIDs == [made.id])

            // Expiry needs no request.
            let second = try await emulator.cloud.createOperation("login", userID: "bob")
            await emulator.clock.advance(by: .seconds(100_000))
            #expect(await emulator.history(ofOperation: second.id).map(\.kind) == [.created, .expired])
            #expect(try await emulator.send("GET", "/_emulator/operations/nothing/history").status == 404)
            #expect(try await emulator.send("GET", "/_emulator/journal/999999").status == 404)
            #expect(await emulator.history(ofOperation: "nothing") == [])
        }
    }

    /// One timeline: push messages and each attempt of a callback are in it, in their order, even if the clock stands still.
    @Test func pushesAndCallbacksAreInTheHistory() async throws {
        try await withEmulator { emulator async throws in
            await emulator.clock.freeze(at: Date(timeIntervalSince1970: 2_000_000_000))
            try await emulator.cloud.createCallback(
                .init(name: "core", subject: .operations, url: "http://127.0.0.1:1/", maximumAttempts: 3)
            )
            let device = try await emulator.makeDevice(userID: "alice", push: "apns", rule: .init(.never))
            let made = try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.settle(within: .seconds(60))
            var told = await emulator.history(ofOperation: made.id)
            #expect(told.map(\.kind).prefix(2) == [.created, .pushed])
            let first = try #require(told.first { $0.kind == .callbackFailed })
            #expect(first.attempt == 1 && first.attempts == 3 && first.reason?.isEmpty == false)
            #expect(first.next == (await emulator.clock.now).addingTimeInterval(2))
            #expect(told.first { $0.kind == .pushed }?.activationID == device.id)
            await emulator.clock.advance(by: .seconds(2))
            try await emulator.settle(within: .seconds(60))
            try await emulator.decide(made.id, .approve, byDevice: device.id)
            told = await emulator.history(ofOperation: made.id)
            #expect(told.filter { $0.kind == .callbackFailed }.map(\.attempt) == [1, 2])
            #expect(told.filter { $0.kind == .callbackFailed }.map { $0.next != nil } == [false, true])
            let last = told.map(\.kind).suffix(2)
            #expect(last == [.approved, .pushed], "\(told.map(\.kind))")
            let entry = try #require(await emulator.journal().last { $0.deliveryID != nil })
            #expect(entry.callbackName == "core" && entry.id == told.last { $0.kind == .callbackFailed }?.requestID)
            #expect(emulator.deliveries().allSatisfy { $0.callbackName == "core" })
        }
    }

    @Test func theJournalIsAskedForAnOperationAnActivationOrADelivery() async throws {
        try await withEmulator { emulator async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let operations = (
                try await emulator.cloud.createOperation("login", userID: "alice"),
                try await emulator.cloud.createOperation("login", userID: "alice")
            )
            try await emulator.cloud.cancelOperation(operations.0.id)
            func paths(_ query: String) async throws -> [String] {
                let entries = try await emulator.ask("/journal?\(query)").body["entries"]?.array ?? []
                return entries.compactMap { $0["path"]?.string }
            }
            let id = operations.0.id
            #expect(try await paths("operationId=\(id)") == ["/v2/operations/\(id)", "/v2/operations"])
            #expect(try await paths("operationId=\(id)&before=1000&limit=1") == ["/v2/operations/\(id)"])
            #expect(try await paths("operationId=\(id)&limit=1") == ["/v2/operations/\(id)"])
            #expect(try await paths("operationId=\(id)&limit=1&since=0") == ["/v2/operations"])
            #expect(try await paths("operationId=\(operations.1.id)") == ["/v2/operations"])
            #expect(try await paths("activationId=\(activation.activationID)").allSatisfy { $0 != "/v2/operations" })
            #expect(try await paths("activationId=\(activation.activationID)").count > 1)
            #expect(try await paths("deliveryId=7") == [])
        }
    }

    @Test func anOperationIsPreviewedInEveryLanguage() async throws {
        try await withEmulator { emulator async throws in
            let made = try await emulator.cloud.createOperation("payment", userID: "alice")
            for (language, title) in [("en", "Confirm Payment"), ("cs", "Potvrzení platby"), ("xx", "Confirm Payment")]
            {
                let preview = try await emulator.ask("/operations/\(made.id)/preview?language=\(language)").body
                #expect(preview["languages"] == ["cs", "de", "en"])
                #expect(preview["language"]?.string == (language == "xx" ? "en" : language))
                #expect(preview["operation"]?["formData"]?["title"]?.string == title)
                #expect(preview["doubts"] == [])
            }
            #expect(try await emulator.send("GET", "/_emulator/operations/nothing/preview").status == 404)
        }
    }

    /// The preview has the doubts of the client's library.
    @Test func aPreviewTellsWhatIsReadAndNotSigned() async throws {
        try await withEmulator { emulator async throws in
            func doubts(_ body: String) async throws -> JSONValue? {
                try await emulator.ask("/operations/preview", method: "POST", body: body).body["doubts"]
            }
            let form =
                #"{"title":"T","message":"M","attributes":[{"id":"a","type":"AMOUNT","label":"L","amount":1,"currency":"CZK"}]}"#
            let signed = #"{"operationType":"x","data":"A1*A1CZK","formData":\#(form)}"#
            let deceptive = #"{"operationType":"x","data":"A1*A100CZK","formData":\#(form)}"#
            #expect(try await doubts(signed) == [])
            let found = try #require(try await doubts(deceptive)?.array)
            #expect(found.contains { $0["kind"] == "amountNotSigned" && $0["subject"] == "a" }, "\(found)")
            for template in ["login", "payment", "payment_shop"] {
                let kinds = try await doubts(#"{"template":"\#(template)"}"#)?.array?.map { $0["kind"]?.string }
                #expect(kinds?.contains { $0?.hasPrefix("amount") != false } == false, "\(template): \(kinds as Any)")
            }
            // With a region, a real server writes the amount in the region's currency, and the amount of the data is another one.
            let template = #"{"template":"payment"}"#
            let path = "/operations/preview?language=en-US"
            let trap = try await emulator.ask(path, method: "POST", body: template).body
            let kinds = trap["doubts"]?.array?.map { $0["kind"]?.string }
            #expect(kinds?.contains("amountNotSigned") == true, "\(trap)")
        }
    }

    @Test func whatWouldBeMadeIsPreviewedWithoutBeingMade() async throws {
        try await withEmulator { emulator async throws in
            let state = try await emulator.exported()
            func preview(_ body: String) async throws -> RawConnection.Response {
                try await emulator.send("POST", "/_emulator/operations/preview?language=cs", body: body)
            }
            let shown = try await preview(#"{"template":"payment","parameters":{"amount":"12.50"}}"#)
            #expect(shown.status == 200)
            let operation = try JSONValue(parsing: Array(shown.body))["operation"]
            #expect(operation?["data"]?.string?.contains("12.50") == true)
            #expect(operation?["formData"]?["title"]?.string == "Potvrzení platby")
            let custom = try await preview(
                ##"{"operationType":"x","data":"A1","formData":{"title":"T","message":"M","attributes":[]}}"##
            )
            #expect(try JSONValue(parsing: Array(custom.body))["operation"]?["formData"]?["title"]?.string == "T")
            #expect(try await preview(#"{"template":"nothing"}"#).status == 400)
            let misspelt = try await preview(#"{"template":"payment","parameters":{"amout":"3"}}"#)
            #expect(misspelt.status == 400 && misspelt.text.contains("did you mean 'amount'?"))
            #expect(try await preview(#"{"tmplate":"payment"}"#).text.contains("did you mean 'template'?"))
            #expect(try await emulator.exported() == state)
            #expect(await emulator.operations().isEmpty)
            #expect(await emulator.journal().isEmpty)
        }
    }
}
