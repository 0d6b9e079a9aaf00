import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing

/// The exit codes and the words for each end that a decision by hand can have, for people and for programs.
@Suite(.timeLimit(.minutes(5))) struct DecisionEndTests {
    enum Verdict: String, CaseIterable, Sendable {
        case approve, reject

        var path: String { self == .approve ? "**/operation/authorize" : "**/operation/cancel" }
        var word: String { self == .approve ? "approved" : "rejected" }
    }

    /// The server, the home of the program, and an activation in it.
    private struct Place {
        let emulator: Emulator
        let home: TemporaryFolder

        func operation() async throws -> String {
            try await self.emulator.cloud.createOperation("login", userID: "alice").id
        }

        func start(_ verdict: Verdict, _ id: String, password: String = "1234", _ more: [String] = []) throws
            -> ChildProcess
        {
            let words = [verdict.rawValue, id] + (verdict == .approve ? ["--password-stdin"] : []) + more
            let program = try Program.start(words, home: self.home.url)
            if verdict == .approve { program.write("\(password)\n") }
            return program
        }

        /// Decides while the server holds the request, and lets it be carried out after `body`.
        func holding(_ verdict: Verdict, _ id: String, _ body: () async throws -> Void) async throws
            -> ChildProcess.Outcome
        {
            let faults = self.emulator.faults
            await faults.add(FaultRule(match: .init(path: verdict.path, first: 1), effect: .init(hold: 3_600)))
            let program = try self.start(verdict, id, ["--json"])
            await until { await faults.counts.contains { $0.waiting == 1 } }
            try await body()
            await faults.release()
            let outcome = await program.outcome()
            await faults.removeAll()
            return outcome
        }

        /// Decides with another device of the user.
        func decideElsewhere(_ verdict: Verdict, _ id: String) async throws {
            let phone = try self.emulator.makeClient()
            let activation = try await self.emulator.makeActivation(user: "alice", password: "1234", client: phone)
            let service = phone.makeOperationsService(for: activation)
            let operation = try await service.detail(id: id)
            switch verdict {
            case .approve: try await service.authorize(operation, with: .possessionAndKnowledge(password: "1234"))
            case .reject: try await service.reject(operation)
            }
        }

        func lastResult() async throws -> String? {
            let show = try await Program.run("receipts", "show", "--json", home: self.home.url)
            return try JSONValue(parsing: show.output).array?.last?["result"]?.string
        }
    }

    private func withPlace(_ body: (Place, _ activationID: String) async throws -> Void) async throws {
        try await withActivatedProgram { emulator, home, id in
            try await body(Place(emulator: emulator, home: home), id)
        }
    }

    private func expect(
        _ outcome: ChildProcess.Outcome,
        _ exitCode: Int32,
        _ code: String,
        _ words: String? = nil,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let error = try #require(
            try JSONValue(parsing: outcome.errors)["error"],
            "\(outcome.errors)",
            sourceLocation: location
        )
        #expect(outcome.exitCode == exitCode, "\(error)", sourceLocation: location)
        #expect(error["exitCode"] == .number(JSONNumber(exitCode)), sourceLocation: location)
        #expect(error["code"]?.string == code, "\(error)", sourceLocation: location)
        if let words {
            #expect(error["message"]?.string?.contains(words) == true, "\(error)", sourceLocation: location)
        }
        #expect(outcome.output.isEmpty, sourceLocation: location)
    }

    // MARK: Carried out

    @Test(arguments: Verdict.allCases) func whatIsCarriedOutIsDone(verdict: Verdict) async throws {
        try await self.withPlace { place, _ in
            let ids = [try await place.operation(), try await place.operation()]
            let told = try await place.start(verdict, ids[0]).outcome()
            #expect(told.exitCode == 0)
            #expect(told.lines.first == "\(verdict.word.capitalized) \(ids[0]).")
            let json = try JSONValue(parsing: try await place.start(verdict, ids[1], ["--json"]).outcome().output)
            #expect(json[verdict.word]?.string == ids[1])
            #expect(json["answerLost"]?.bool == false)
        }
    }

    /// The history tells how the operation ended. A rejection has one factor, and no history is read with it.
    @Test func anApprovalWhoseAnswerIsLostIsDone() async throws {
        try await self.withPlace { place, _ in
            let ids = [try await place.operation(), try await place.operation()]
            try await place.emulator.withFault(.lostAnswer, on: Verdict.approve.path) {
                let told = try await place.start(.approve, ids[0]).outcome()
                #expect(told.exitCode == 0, "\(told.errors)")
                #expect(told.lines.first == "Approved \(ids[0]): the answer was lost, and the operation ended so.")
                let json = try await place.start(.approve, ids[1], ["--json"]).outcome()
                #expect(try JSONValue(parsing: json.output)["answerLost"]?.bool == true)
                #expect(try await place.lastResult() == "inferred")
            }
        }
    }

    // MARK: Over

    @Test(arguments: Verdict.allCases) func whatIsOverOtherwiseIsOver(verdict: Verdict) async throws {
        try await self.withPlace { place, _ in
            let id = try await place.operation()
            let canceled = try await place.holding(verdict, id) {
                _ = try await place.emulator.cloud.cancelOperation(id)
            }
            try self.expect(canceled, 6, "operationAlreadyCanceled")
            #expect(try await place.lastResult()?.hasPrefix("refused") == true)
        }
    }

    @Test func whatAnotherDeviceRejectedIsNoApproval() async throws {
        try await self.withPlace { place, _ in
            let id = try await place.operation()
            let over = try await place.holding(.approve, id) { try await place.decideElsewhere(.reject, id) }
            try self.expect(over, 6, "operationAlreadyRejected")
            #expect(try await place.lastResult()?.hasPrefix("refused") == true)
        }
    }

    /// The server says to this very request that the operation is over: it has ended as it was decided, and nothing tells by whom.
    @Test(arguments: Verdict.allCases) func whoEndedItIsNotKnown(verdict: Verdict) async throws {
        try await self.withPlace { place, _ in
            let id = try await place.operation()
            let over = try await place.holding(verdict, id) { try await place.decideElsewhere(verdict, id) }
            let words =
                verdict == .approve
                ? "It is over: approved; by whom is not known" : "It is over; how, and by whom, is not known"
            try self.expect(over, 6, "operationAlreadyFinished", words)
            #expect(try await place.lastResult() == "unknown" || verdict == .reject)
        }
    }

    // MARK: Refused

    @Test(arguments: Verdict.allCases) func whatIsRefusedHasTheServersCode(verdict: Verdict) async throws {
        try await self.withPlace { place, activationID in
            let id = try await place.operation()
            let flag = FaultRule.Effect(status: 400, code: "OPERATION_REQUIRES_ACTIVATION_FLAG")
            try await place.emulator.withFault(flag, on: verdict.path) {
                try self.expect(try await place.start(verdict, id, ["--json"]).outcome(), 1, "activationFlagRequired")
            }
            let unknown = try await place.start(verdict, UUID().uuidString, ["--json"]).outcome()
            try self.expect(unknown, 4, "notFound")
            if verdict == .approve {
                let wrong = try await place.start(verdict, id, password: "9999", ["--json"]).outcome()
                try self.expect(wrong, 7, "authenticationFailed")
            }
            try await place.emulator.blockActivation(activationID)
            try self.expect(try await place.start(verdict, id, ["--json"]).outcome(), 8, "activationBlocked")
        }
    }

    // MARK: Anything else

    @Test(arguments: Verdict.allCases, [FaultRule.Effect.lostRequest, .init(page: .init(.after, status: 403))])
    func whatMayHaveBeenCarriedOutIsCalledSo(verdict: Verdict, effect: FaultRule.Effect) async throws {
        try await self.withPlace { place, _ in
            let id = try await place.operation()
            // A page after a request of two factors leaves the history, which tells.
            guard verdict == .reject || effect == .lostRequest else { return }
            try await place.emulator.withFault(effect, on: verdict.path) {
                let outcome = try await place.start(verdict, id, ["--json"]).outcome()
                try self.expect(outcome, 3, "outcomeUnknown", "may have been carried out")
                let told = try await place.start(verdict, try await place.operation()).outcome()
                #expect(told.exitCode == 3)
                #expect(told.errors.contains("Look at the operation before it is decided again"))
            }
        }
    }

    // MARK: Waiting, and lost signatures

    /// A gateway gives up, and delivers the approval later. The next one waits for it, and goes on when the server has come to it.
    @Test(arguments: [false, true]) func theWaitForAnEarlierDecisionIsTold(isJSON: Bool) async throws {
        try await self.withPlace { place, _ in
            let ids = [try await place.operation(), try await place.operation()]
            let faults = place.emulator.faults
            await faults.add(FaultRule(match: .init(path: Verdict.approve.path, first: 1), effect: .init(late: 3_600)))
            let first = try await place.start(.approve, ids[0], ["--timeout", "100", "--json"]).outcome()
            try self.expect(first, 3, "outcomeUnknown")
            let next = try place.start(.approve, ids[1], isJSON ? ["--json"] : [])
            var note: String?
            repeat { note = await next.nextErrorLine() } while note.map { !$0.contains("waiting") } ?? false
            if isJSON {
                let document = try JSONValue(parsing: note ?? "")["note"]
                #expect(document?["code"]?.string == "waitingForDecision")
                #expect(document?["seconds"]?.int64.map { 1...100 ~= $0 } == true)
            } else {
                #expect(note?.hasPrefix("mobile-token: waiting for an earlier decision, ") == true)
                #expect(note?.hasSuffix(" s at most; nothing is signed until then") == true)
            }
            await faults.release()
            #expect(await next.outcome().exitCode == 0)
            for id in ids { #expect(try await place.emulator.cloud.operation(id).status == .approved) }
        }
    }

    @Test func lostSignaturesAreCountedAndTriedAgain() async throws {
        try await self.withPlace { place, _ in
            let home = place.home.url
            let id = try await place.operation()
            try await place.emulator.withFault(.init(strip: "X-PowerAuth-Authorization")) {
                for _ in 1...10 {
                    let lost = try await Program.run("history", "--password-stdin", home: home, input: "1234\n")
                    #expect(lost.exitCode == 3 && lost.errors.contains("refusalUnproven"), "\(lost.errors)")
                }
                try self.expect(
                    try await place.start(.approve, id, ["--json"]).outcome(),
                    3,
                    "signaturesAreLost",
                    "The server has seen none of the last 10 signatures; something on the way removes X-PowerAuth-Authorization"
                )
                let counter = try await Program.run("counter", home: home)
                #expect(counter.exitCode == 0)
                #expect(counter.output.hasSuffix("distance 10, window 20, 10 left\n"), "\(counter.output)")
                let tried = try await Program.run("counter", "--try", home: home)
                #expect(tried.exitCode == 3)
                #expect(tried.output.hasSuffix("distance 11, window 20, 9 left\n"), "\(tried.output)")
                let json = try JSONValue(
                    parsing: try await Program.run("counter", "--try", "--json", home: home).output
                )
                #expect(json["lost"] == 12 && json["left"] == 8)
            }
            let healed = try await Program.run("counter", "--try", home: home)
            #expect(healed.exitCode == 0)
            #expect(healed.output.hasSuffix("distance 0, window 20, 20 left\n"), "\(healed.output)")
            #expect(try await place.start(.approve, id).outcome().exitCode == 0)
        }
    }
}
