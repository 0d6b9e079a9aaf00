import ApprovalTesting
import ExactJSON
import Foundation
import MobileTokenTesting
import Synchronization
import TestSupport
import Testing

@testable import MobileTokenApprovals

/// The sixteen rules of asking: each test fails without its rule.
@Suite(.timeLimit(.minutes(5))) struct RuleTests {
    /// Covers a server with documented answers only, and one whose undocumented answers show more.
    static let servers = [false, true]

    private static func basic(_ password: String) -> [(String, String)] {
        [("Authorization", "Basic " + Data("server:\(password)".utf8).base64EncodedString())]
    }

    private static func callback(_ id: String, status: String = "APPROVED") -> [UInt8] {
        Array(#"{"type":"OPERATION","operationId":"\#(id)","status":"\#(status)"}"#.utf8)
    }

    // MARK: 1

    @Test(arguments: servers) func rule1AForgedCallbackDecidesNothing(_ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly) { $0.callbackPassword = "secret" }
        bench.server.with { $0.script = [:] }
        let ticket = try await bench.desk.ask(bench.readable(Bench.request()))
        #expect(bench.desk.receive(body: Self.callback("op-1"), headers: Self.basic("secret")) == 200)
        bench.clock.advance(by: .seconds(2))
        let decision = Task { try await ticket.decision() }
        await bench.clock.waitForSleepers(1)
        #expect(try await bench.state() == .open)
        #expect(bench.runs.count == 0)
        _ = try? await decision.stop()
    }

    @Test func rule1InventedOperationsAreAnsweredAlikeAndCostNoRequest() async throws {
        let bench = try await Bench(isAnswered: false) { $0.callbackPassword = "secret" }
        _ = try await bench.desk.ask(Bench.request())
        let before = bench.server.with { $0.shows.count }
        for number in 0..<10_000 {
            #expect(bench.desk.receive(body: Self.callback("invented-\(number)"), headers: Self.basic("secret")) == 200)
        }
        let running = Task { try await bench.desk.run() }
        await bench.clock.waitForSleepers(1)
        bench.clock.advance(by: .seconds(1))
        await bench.clock.waitForSleepers(1)
        #expect(bench.server.with { state in state.shows.dropFirst(before).allSatisfy { $0 == "op-1" } })
        _ = try? await running.stop()
    }

    @Test func rule1AKnownOperationIsFetchedAtMostOnceASecond() async throws {
        let bench = try await Bench(isAnswered: false) { $0.callbackPassword = "secret" }
        _ = try await bench.desk.ask(Bench.request())
        let running = Task { try await bench.desk.run() }
        await bench.clock.waitForSleepers(1)
        let before = bench.server.with { $0.shows.count }
        for _ in 0..<10 {
            for _ in 0..<20 { _ = bench.desk.receive(body: Self.callback("op-1"), headers: Self.basic("secret")) }
            await bench.clock.waitForSleepers(1)
            bench.clock.advance(by: .milliseconds(100))
        }
        await bench.clock.waitForSleepers(1)
        #expect(bench.server.with { $0.shows.count } - before <= 2)
        _ = try? await running.stop()
    }

    @Test(arguments: ["wrong", "", "secret2", "secre"]) func rule1OnlyThePasswordAdmitsACallback(_ password: String)
        async throws
    {
        let bench = try await Bench { $0.callbackPassword = "secret" }
        #expect(bench.desk.receive(body: Self.callback("op-1"), headers: Self.basic(password)) == 401)
        #expect(bench.desk.receive(body: Self.callback("op-1"), headers: [(String, String)]()) == 401)
        #expect(
            bench.desk.receive(body: Self.callback("op-1"), headers: Self.basic("secret") + Self.basic("secret")) == 401
        )
        let closed = try await Bench()
        #expect(closed.desk.receive(body: Self.callback("op-1"), headers: Self.basic("")) == 401)
    }

    // MARK: 2

    @Test(arguments: servers) func rule2TheActionGetsTheBytesThatWereDigested(_ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly)
        let approval = try await bench.perform(bench.readable(Bench.request()))
        #expect(bench.runs.all == [Array("manifest".utf8)])
        #expect(approval.approvals.map(\.userID) == ["alice"])
        #expect(approval.idempotencyKey.utf8.count == 64)
    }

    @Test(arguments: [ApprovalState.open, .approved, .done, .rejected, .withdrawn])
    func rule2OtherContentUnderTheSameNameIsRefusedInEveryState(_ state: ApprovalState) async throws {
        let bench = try await Bench()
        if state == .rejected { bench.server.with { $0.script["alice"] = .init(status: "REJECTED") } }
        if state == .done { try await bench.perform() }
        if state != .done {
            let ticket = try await bench.desk.ask(Bench.request())
            if state == .withdrawn { try await ticket.withdraw() }
            if state == .approved || state == .rejected { _ = try await bench.passing { try await ticket.decision() } }
        }
        #expect(try await bench.state() == state)
        var bytes = Bench.request()
        bytes.action = .bytes(Array("manifesT".utf8))
        var parameter = Bench.request()
        parameter.parameters["version"] = "4.2.2"
        var devices = Bench.request()
        devices.devices = ["device-9"]
        var validity = Bench.request()
        validity.validFor = .seconds(3_600)
        var unverified = Bench.request()
        unverified.accepting = .unverifiedData
        let runs = bench.runs.count
        for other in [bytes, parameter, Bench.request(from: .user("bob")), devices, validity, unverified] {
            #expect(await bench.code(of: other) == .alreadyAsked)
        }
        #expect(bench.runs.count == runs)
    }

    // MARK: 3

    @Test(
        arguments: [
            "A9*T${service}*R${binding}", "A9*T${service}*N${version}*X${fingerprint}*R${binding}",
            "A9*N${version}*T${service}*R${binding}", "A9*T${service}*N${version}*R${binding}*NEUR", "A9*T*N*R",
        ]
    )
    func rule3AnEditedTemplateIsFoundRightAway(_ form: String) async throws {
        let bench = try await Bench()
        bench.server.with { state in
            state.forms["deploy"] = form
            state.script = [:]
        }
        // At once, before anybody can have decided.
        let error = await #expect(throws: ApprovalError.self) { try await bench.desk.ask(Bench.request()) }
        #expect(error?.code == .bindingMismatch)
        #expect(bench.server.operations.map(\.status) == ["CANCELED"])
        #expect(await bench.code() == .bindingMismatch)
        #expect(bench.runs.count == 0)
        // Final, also when the template is mended.
        bench.server.with { $0.forms = [:] }
        #expect(await bench.code() == .bindingMismatch)
    }

    @Test(arguments: ["binding", "fingerprint", "service"], servers)
    func rule3ADroppedParameterIsAMismatch(_ name: String, _ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly)
        bench.server.with { $0.dropped = [name] }
        #expect(await bench.code(of: bench.readable(Bench.request())) == .bindingMismatch)
    }

    static let lies: [@Sendable (inout CloudClient.Operation) -> Void] = [
        { $0.data = "A9*Tbilling*N9.9.9*R" }, { $0.userID = "Alice" }, { $0.userID = nil },
        { $0.operationType = "other" }, { $0.allParameters["version"] = "9" },
        { $0.allParameters["version"] = 4 },
        { $0.allParameters["more"] = "x" }, { $0.expiresMilliseconds += 60_000 }, { $0.createdMilliseconds -= 1 },
    ]

    @Test(arguments: lies.indices) func rule3WhatTheServerShowsBeforeTheActionIsComparedAgain(_ index: Int) async throws
    {
        let bench = try await Bench()
        try await bench.decided()
        #expect(try await bench.state() == .approved)
        bench.server.with { $0.lie = Self.lies[index] }
        #expect(await bench.code() == .bindingMismatch)
        #expect(try await bench.state() == .mismatched)
        #expect(bench.runs.count == 0)
    }

    /// Whoever only waits for the decision is told, too.
    @Test func rule3WhatIsApprovedIsComparedWhenItIsHeardOf() async throws {
        let bench = try await Bench()
        let ticket = try await bench.desk.ask(Bench.request())
        bench.server.with { $0.lie = { $0.data = "A9*Tbilling*N9.9.9*R" } }
        let decision = try await bench.passing { try await ticket.decision() }
        guard case .failed(let failure) = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(failure.code == .bindingMismatch)
    }

    @Test func rule3WhatWasApprovedMustStillBeApproved() async throws {
        let bench = try await Bench()
        try await bench.decided()
        bench.server.with { $0.lie = { $0.status = "REJECTED" } }
        #expect(await bench.code() == .bindingMismatch)
        #expect(bench.runs.count == 0)
    }

    // MARK: 4

    @Test func rule4DataThatCannotBeReadStayNotAsked() async throws {
        let bench = try await Bench(isDocumentedOnly: true, isAnswered: false)
        #expect(await bench.code() == .cannotVerify)
        #expect(await bench.statusesAtRest() == ["CANCELED"])
    }

    @Test func rule4TheOfflineCodeTellsTheData() async throws {
        let bench = try await Bench(isDocumentedOnly: true)
        let approval = try await bench.perform(bench.readable(Bench.request()))
        #expect(approval.approvals.map(\.evidence) == [.offlineCode])
        #expect(approval.approvals.first?.signedData?.hasPrefix("A9*Tbilling*N4.2.1*R") == true)
        // The same code with other data.
        let edited = try await Bench(isDocumentedOnly: true)
        edited.server.with { $0.forms["deploy"] = "A9*R${binding}" }
        #expect(await edited.code(of: edited.readable(Bench.request())) == .bindingMismatch)
    }

    /// Somebody who edits the template lets its title have lines of its own, of which the fourth is what the desk wants to read.
    @Test(arguments: ["\n\nA9*T${service}*N${version}*R${binding}", "\nA9*T${service}*N${version}*R${binding}\n", "\n"])
    func rule4ATitleCannotPassForTheData(_ lines: String) async throws {
        let bench = try await Bench(isDocumentedOnly: true)
        bench.server.with { state in
            state.forms["deploy"] = "A9*T${service}*N9.9.9*R${binding}"
            state.offlineTitle = "Deploy" + lines
        }
        let code = await bench.code(of: bench.readable(Bench.request()))
        #expect(code == .cannotVerify || code == .bindingMismatch)
        #expect(bench.runs.count == 0)
    }

    /// Issue 49, 1 to 4: what approvers read is compared with what they sign, as far as the asker sees it.
    @Test func rule4ATextOfTheOfflineCodeMustNotNameAnAmountThatIsNotSigned() async throws {
        for title in ["Pay 100 CZK", "To CZ65 0800 0000 1920 0014 5399"] {
            let bench = try await Bench(isDocumentedOnly: true)
            bench.server.with { $0.offlineTitle = title }
            #expect(await bench.code(of: bench.readable(Bench.request())) == .bindingMismatch)
            #expect(bench.runs.count == 0)
        }
    }

    @Test func rule4AnOfflineCodeMayHaveAOneTimeCode() async throws {
        let bench = try await Bench(isDocumentedOnly: true)
        bench.server.with { $0.offlineOneTimeCode = "12345678" }
        try await bench.perform(bench.readable(Bench.request()))
    }

    @Test func rule4UnverifiedDataAreTheCallersWord() async throws {
        let bench = try await Bench(isDocumentedOnly: true)
        let approval = try await bench.perform(altered(Bench.request()) { $0.accepting = .unverifiedData })
        #expect(approval.approvals.map(\.evidence) == [.unverifiedData])
        #expect(approval.approvals.first?.signedData == nil)
    }

    @Test(arguments: [0, 1, 2]) func rule4FactorsAndDevicesMustBeReadable(_ demand: Int) async throws {
        let bench = try await Bench(isDocumentedOnly: true, isAnswered: false)
        var request = bench.readable(Bench.request())
        request.accepting = .unverifiedData
        switch demand {
        case 0: request.factors = ["possession_knowledge"]
        case 1: request.devices = ["device-1"]
        default: request.minimumDeviceAge = .seconds(1)
        }
        #expect(await bench.code(of: request) == .cannotVerify)
        #expect(await bench.statusesAtRest() == ["CANCELED"])
        // With answers that tell, the same request is fine.
        let open = try await Bench()
        try await open.perform(request)
    }

    @Test func rule4AnswersThatTellLessThanBeforeDoNotCount() async throws {
        let bench = try await Bench()
        try await bench.decided()
        bench.server.with { $0.isDocumentedOnly = true }
        #expect(await bench.code() == .cannotVerify)
    }

    // MARK: 5

    @Test(
        arguments: [
            ApprovalRequest.Parameter.ascii("billing\u{430}"), .ascii("a\u{202E}b"), .ascii("a\u{200B}b"),
            .ascii("${binding}"),
            .ascii("@{title}"),
            .ascii("a\nb"), .ascii("a\tb"), .ascii("\u{7F}"), .ascii("é"), .text("a\u{202E}b"), .text("a\u{200B}b"),
            .text("e\u{301}"),
            .text("a\u{E000}"), .text("${binding}"), .text("a\u{A0}b"), .text("a\u{0}"), .text("\u{301}"),
            .text("\u{2800}"),
            .text("a\u{FE0F}"), .text("\u{3164}"), .ascii(String(repeating: "a", count: 256)),
            .text(String(repeating: "é", count: 128)),
        ]
    )
    func rule5WhatDeceivesIsNotAsked(_ value: ApprovalRequest.Parameter) async throws {
        let bench = try await Bench()
        #expect(await bench.code(of: altered(Bench.request()) { $0.parameters["service"] = value }) == .invalidRequest)
        #expect(bench.server.operations.isEmpty)
    }

    @Test(arguments: [ApprovalRequest.Parameter.ascii(#"a*b\c"#), .text("účet Жанны 日本"), .ascii(""), .ascii("~ {}$")])
    func rule5WhatIsPlainIsAskedAndComparedAsTheServerEscapesIt(_ value: ApprovalRequest.Parameter) async throws {
        let bench = try await Bench()
        try await bench.perform(altered(Bench.request()) { $0.parameters["service"] = value })
        #expect(bench.runs.count == 1)
    }

    @Test func rule5TheDesksOwnParametersAreNotTheCallers() async throws {
        let bench = try await Bench()
        for name in ["binding", "fingerprint", "a b", "${x}", ""] {
            #expect(await bench.code(of: altered(Bench.request()) { $0.parameters[name] = "x" }) == .invalidRequest)
        }
    }

    // MARK: 6

    @Test func rule6AudienceIdAndNonceAreInTheBinding() async throws {
        let bench = try await Bench()
        let staging = try await Bench.desk(.inMemory(), bench.server, audience: "staging")
        bench.server.with { $0.script = [:] }
        _ = try await bench.desk.ask(Bench.request())
        _ = try await staging.ask(Bench.request())
        let again = try await Bench.desk(.inMemory(), bench.server)
        _ = try await again.ask(Bench.request())
        let bindings = bench.server.with { $0.creations.compactMap { $0.parameters["binding"] } }
        #expect(Set(bindings).count == 3)
    }

    @Test func rule6ALedgerHasOneAudience() async throws {
        let bench = try await Bench()
        await #expect(throws: ApprovalError.self) {
            try await Bench.desk(bench.ledger, bench.server, audience: "production")
        }
    }

    @Test func rule6TheTargetCanKnowTheSecondTimeByTheSameKey() async throws {
        let (one, other) = (try await Bench(), try await Bench())
        let (first, second) = (try await one.perform(), try await other.perform())
        #expect(first.idempotencyKey == second.idempotencyKey)
        one.clock.advance(by: .seconds(10))
        #expect(first.idempotencyKey != (try await one.perform(Bench.request("deploy-2"))).idempotencyKey)
    }

    // MARK: 7

    @Test(arguments: servers) func rule7ASecondTimeIsRefused(_ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly)
        let request = bench.readable(Bench.request())
        try await bench.perform(request)
        let error = await #expect(throws: ApprovalError.self) { try await bench.perform(request) }
        #expect(error?.code == .alreadyPerformed)
        #expect(error?.performance == .done)
        #expect(bench.runs.count == 1)
    }

    @Test func rule7AnActionThatThrowsHasUsedTheApprovalUp() async throws {
        struct Broken: Error {}
        let bench = try await Bench()
        await #expect(throws: Broken.self) {
            try await bench.passing { try await bench.desk.perform(Bench.request()) { _ in throw Broken() } }
        }
        let error = await #expect(throws: ApprovalError.self) { try await bench.perform() }
        #expect(error?.performance == .threw)
        #expect(bench.runs.count == 0)
    }

    /// Whoever sees a claim sees that its holder lives.
    @Test func rule7AClaimIsHeldWhenOthersSeeIt() async throws {
        let driver = StoppingLedger(MemoryLedger())
        let bench = try await Bench(ledger: .testing(driver))
        let other = try await Bench.desk(bench.ledger, bench.server)
        driver.set(.after(.claimed)) {
            let ticket = try await other.tickets(id: "deploy-1").first
            #expect(ticket?.state == .claimed)
        }
        try await bench.perform()
        #expect(try await bench.state() == .done)
    }

    // MARK: 9

    @Test(arguments: servers) func rule9TheFirstFinalStateStays(_ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly)
        bench.server.with { $0.script["alice"] = .init(status: "EXPIRED") }
        let request = bench.readable(Bench.request())
        #expect(await bench.code(of: request) == .expired)
        bench.server.update { $0.status = "APPROVED" }
        #expect(await bench.code(of: request) == .expired)
        #expect(try await bench.state() == .expired)
    }

    private static func approved(_ id: String) -> CloudClient.Operation {
        .init(id: id, status: "APPROVED", operationType: "x", failures: (0, 1), created: 0, expires: 300_000)
    }

    /// Whatever an answer says: nothing leads out of an end, nor to the action but an approval.
    @Test func rule9NoArrowLeavesAnEnd() throws {
        let operation = Self.approved("op-1")
        let open = altered(QuestionRecord(try Bench.request().terms(audience: "test"), at: 0)) {
            _ = $0.adopt(operation, for: 0, date: nil, evidence: .answer, at: 0)
        }
        let approved = altered(open) { $0.answer(0, .approved, operation, at: 0) }
        let claimed = altered(approved) { _ = $0.claim(token: 1, at: 0) }
        #expect([open, approved, claimed].map(\.state) == [.open, .approved, .claimed])
        #expect(altered(open) { _ = $0.claim(token: 1, at: 0) } == open)
        for change in [
            { _ = $0.claim(token: 2, at: 0) }, { _ = $0.performed(2, .done, at: 0) },
            { $0.end(.withdrawn, .canceled, "", at: 0) },
        ] as [(inout QuestionRecord) -> Void] {
            #expect(altered(claimed, change) == claimed)
        }
        var ended = [ApprovalState.done, .threw].map { state in
            altered(claimed) { _ = $0.performed(1, state, at: 0) }
        }
        for state in ApprovalState.allCases where state.isFinal && !state.wasClaimed {
            for record in [open, approved] { ended.append(altered(record) { $0.end(state, .failed, "", at: 0) }) }
        }
        #expect(Set(ended.map(\.state)).count == 9)
        for record in ended {
            let changed = altered(record) {
                $0.answer(0, .approved, operation, at: 1)
                _ = $0.claim(token: 3, at: 1)
                $0.end(.approved, .failed, "", at: 1)
                $0.loseTrack("", at: 1)
            }
            #expect(changed == record, "\(record.state)")
        }
    }

    /// Two of three approved, and one of them is struck out before the action: the third could make it two again, but what was
    /// approved is not open again.
    @Test(arguments: [Approvers.RejectionRule.ends, .untilImpossible])
    func rule9AQuorumThatLosesAnApprovalIsOver(_ onRejection: Approvers.RejectionRule) throws {
        let approvers = Approvers.any(2, of: ["alice", "bob", "carol"], onRejection: onRejection)
        var record = QuestionRecord(try Bench.request(from: approvers).terms(audience: "test"), at: 0)
        let operations = (0..<3).map { Self.approved("op-\($0)") }
        for (index, operation) in operations.enumerated() {
            _ = record.adopt(operation, for: index, date: nil, evidence: .answer, at: 0)
        }
        for index in 0..<2 { record.answer(index, .approved, operations[index], at: 0) }
        #expect(record.state == .approved)
        record.discount(0, .failed, "alice may no longer approve", at: 0)
        #expect(record.state == .failed)
        let isClaimed = record.claim(token: 1, at: 0)
        #expect(!isClaimed)
    }

    /// A look that takes longer than its answer is good for is repeated, and burns nothing.
    @Test func rule9ASlowLookIsRepeated() async throws {
        let bench = try await Bench()
        try await bench.decided()
        let looks = Shared(0)
        bench.server.with { state in
            state.beforeShow = { server in
                looks.update { $0 += 1 }
                if looks.value == 1 { server.clock.advance(by: .seconds(6)) }
            }
        }
        try await bench.perform()
        #expect(bench.runs.count == 1 && looks.value == 2)
    }

    @Test(arguments: servers) func rule9AnOldApprovalIsNotUsed(_ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly)
        let request = bench.readable(Bench.request())
        let ticket = try await bench.desk.ask(request)
        _ = try await bench.passing { try await ticket.decision() }
        bench.clock.advance(by: .seconds(301))
        #expect(await bench.code(of: request) == .lapsed)
        #expect(bench.runs.count == 0)
    }

    /// The desk's own clock says that the approval is fresh: the server's stamps say that it is not.
    /// A clock that goes back is no freshness.
    @Test(arguments: [301_000, -60_000]) func rule9TheAgeIsByTheServersStamps(_ skew: Int64) async throws {
        let bench = try await Bench()
        try await bench.decided()
        bench.server.with { $0.skew += skew }
        #expect(await bench.code() == .lapsed)
    }

    @Test(arguments: [-3_600_000, 3_600_000], servers)
    func rule9AClockThatIsAnHourWrongNeitherHelpsNorHarms(_ skew: Int64, _ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly)
        bench.server.with { $0.skew = skew }
        // Also the first question of a process.
        try await bench.perform(bench.readable(Bench.request("real")))
        let operation = try #require(bench.server.operations.first)
        #expect((operation.expiresMilliseconds - operation.createdMilliseconds - 300_000).magnitude <= 1_000)
        let ticket = try await bench.desk.ask(bench.readable(Bench.request("late", from: .user("bob"))))
        _ = try await bench.passing { try await ticket.decision() }
        bench.clock.advance(by: .seconds(301))
        #expect(await bench.code(of: bench.readable(Bench.request("late", from: .user("bob")))) == .lapsed)
    }

    /// Somebody sets the desk's clock while it runs.
    @Test func rule9AClockThatIsSetBetweenQuestionsChangesNoTimeToDecide() async throws {
        let shift = Shared<TimeInterval>(0)
        let server = TestServer(ManualClock())
        let bench = try await Bench(server: server) { configuration in
            configuration.now = {
                Date(timeIntervalSince1970: Double(TestServer.start + server.elapsed) / 1_000 + shift.value)
            }
        }
        _ = try await bench.desk.ask(Bench.request("one"))
        shift.value = 3_600
        _ = try await bench.desk.ask(Bench.request("two", from: .user("bob")))
        #expect(
            bench.server.operations.map { $0.expiresMilliseconds - $0.createdMilliseconds }.allSatisfy {
                $0 <= 300_000 && $0 >= 299_000
            }
        )
    }

    @Test func rule9WithoutADateTheDesksClockCounts() async throws {
        let bench = try await Bench()
        bench.server.with { $0.sendsDates = false }
        try await bench.decided()
        bench.server.with { $0.skew -= 7_200_000 }  // is not asked
        try await bench.perform()
    }

    /// And its time of day stood still, too.
    @Test func rule9AnAnswerThatAMachineReadsAfterItSleptTellsNoPresentTime() async throws {
        let bench = try await Bench { $0.now = { Date(timeIntervalSince1970: Double(TestServer.start) / 1_000) } }
        try await bench.decided()
        bench.server.with { state in
            state.afterAnswer = { server in
                server.with { $0.sendsDates = false }
                server.clock.advance(by: .seconds(301))
            }
        }
        #expect(await bench.code() == .lapsed)
        #expect(bench.runs.count == 0)
    }

    @Test(arguments: [false, true]) func rule9AMachineThatSleptAroundTheClaimIsTooLate(_ isBefore: Bool) async throws {
        let driver = StoppingLedger(MemoryLedger())
        let clock = Mutex<ManualClock?>(nil)
        driver.set(isBefore ? .beforeClaim : .afterClaim) { clock.withLock { $0 }?.advance(by: .seconds(3_600)) }
        let bench = try await Bench(ledger: .testing(driver))
        clock.withLock { $0 = bench.clock }
        #expect(await bench.code() == .lapsed)
        #expect(bench.runs.count == 0)
        #expect(try await bench.state() == .lapsed)
    }

    @Test(arguments: servers) func rule9ALifetimeThatTheServerChangesIsAMismatch(_ isDocumentedOnly: Bool) async throws
    {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly)
        bench.server.with { $0.lie = { $0.expiresMilliseconds += 3_600_000 } }
        #expect(await bench.code(of: bench.readable(Bench.request())) == .bindingMismatch)
    }

    /// A request that the network holds back makes an operation that has less time.
    @Test(arguments: [(50_000, nil), (70_000, ApprovalError.Code.bindingMismatch)] as [(Int64, ApprovalError.Code?)])
    func rule9AQuestionThatArrivesLateHasLessTime(_ delay: Int64, _ code: ApprovalError.Code?) async throws {
        let bench = try await Bench()
        bench.server.with { $0.lie = { $0.expiresMilliseconds -= delay } }
        #expect(await bench.code() == code)
    }

    // MARK: 10

    @Test(arguments: [1, 2], servers)
    func rule10ALostAnswerIsAskedAgainWithTheSameBinding(_ lost: Int, _ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly)
        bench.server.with { state in
            state.creationFailures = Array(repeating: (TestServer.unanswered(lost: true), isMade: true), count: lost)
        }
        let approval = try await bench.perform(bench.readable(Bench.request()))
        #expect(bench.runs.count == 1)
        let bindings = bench.server.with { $0.creations.compactMap { $0.parameters["binding"] } }
        #expect(bindings.count == lost + 1)
        #expect(Set(bindings).count == 1)
        // The strays were approved too, as the server's script has it: nothing follows from them.
        #expect(approval.approvals.map(\.operationID) == ["op-\(lost + 1)"])
    }

    /// A proxy that mixes answers up: what somebody else was asked is not canceled, and what was asked here is not forgotten.
    @Test func rule10TheAnswerToAnothersCreationIsALostOne() async throws {
        let bench = try await Bench()
        bench.server.with { state in
            state.lie = { operation in
                guard operation.id == "op-1" else { return }
                operation.id = "op-of-another"
                operation.allParameters["binding"] = "IQdM6bx-30zbi9cPN_yGw7PnMPD7B7_GGGjoWZ_gPLk"
            }
        }
        let ticket = try await bench.desk.ask(Bench.request())
        #expect(ticket.state == .drafted)
        try await bench.perform()
        #expect(bench.server.with { $0.cancellations }.isEmpty)
        #expect(bench.server.with { $0.creations.count } == 2)
    }

    @Test func rule10ACreationWithoutAnAnswerIsNotRepeatedWhileItMayArrive() async throws {
        let bench = try await Bench()
        bench.server.with { $0.creationFailures = [(TestServer.unanswered(lost: true), isMade: true)] }
        let ticket = try await bench.desk.ask(Bench.request())
        #expect(ticket.state == .drafted)
        bench.clock.advance(by: .seconds(19))
        _ = try await bench.desk.ask(Bench.request())
        try await bench.desk.core.step(LedgerKey(audience: "test", id: "deploy-1"))
        #expect(bench.server.operations.count == 1)
        bench.clock.advance(by: .seconds(7))
        try await bench.desk.core.step(LedgerKey(audience: "test", id: "deploy-1"))
        #expect(bench.server.operations.count == 2)
    }

    @Test func rule10AStrayIsAdoptedWhileThereIsNoneAndCanceledAfterwards() async throws {
        let bench = try await Bench { $0.callbackPassword = "secret" }
        bench.server.with { state in
            state.script = [:]
            state.creationFailures = [(TestServer.unanswered(lost: true), isMade: true)]
        }
        let key = LedgerKey(audience: "test", id: "deploy-1")
        _ = try await bench.desk.ask(Bench.request())
        #expect(bench.desk.receive(body: Self.callback("op-1"), headers: Self.basic("secret")) == 200)
        try await bench.desk.core.lookUpUnrecognized()
        let record = try #require(try await bench.desk.core.ledger.load(key)).record
        #expect(record.state == .open)
        #expect(record.parts.map(\.operationID) == ["op-1"])

        // The other way round: it is created again, and then the first one shows.
        let other = try await Bench { $0.callbackPassword = "secret" }
        other.server.with { state in
            state.script = [:]
            state.creationFailures = [(TestServer.unanswered(lost: true), isMade: true)]
        }
        _ = try await other.desk.ask(Bench.request())
        other.clock.advance(by: .seconds(26))
        try await other.desk.core.step(key)
        other.server.with { $0.operations[0].status = "APPROVED" }
        #expect(other.desk.receive(body: Self.callback("op-1"), headers: Self.basic("secret")) == 200)
        try await other.desk.core.lookUpUnrecognized()
        #expect(try await other.state() == .open)
        other.server.with { $0.operations[0].status = "PENDING" }
        _ = other.desk.receive(body: Self.callback("op-1"), headers: Self.basic("secret"))
        other.clock.advance(by: .seconds(2))
        try await other.desk.core.lookUpUnrecognized()
        #expect(other.server.operations.map(\.status) == ["CANCELED", "PENDING"])
    }

    /// A question that is over asks nobody, however late its creation arrives.
    @Test(arguments: [false, true]) func rule10ALateCreationOfAQuestionThatIsOverIsCanceled(
        isWithdrawn: Bool
    ) async throws {
        let key = LedgerKey(audience: "test", id: "deploy-1")
        let bench = try await Bench { $0.callbackPassword = "secret" }
        bench.server.with { state in
            state.script = [:]
            state.creationFailures = [(TestServer.unanswered(lost: true), isMade: true)]
        }
        let ticket = try await bench.desk.ask(Bench.request())
        if isWithdrawn {
            try await ticket.withdraw()
        } else {
            // Asked once more, and answered; the first one may still arrive.
            bench.clock.advance(by: .seconds(26))
            try await bench.desk.core.step(key)
            bench.server.with { $0.script["alice"] = TestServer.Decision() }
            try await bench.perform()
            bench.server.with { state in
                state.script = [:]
                state.operations[0].status = "PENDING"
            }
        }
        // Another process, which has the ledger alone.
        let other = try await Bench.desk(bench.ledger, bench.server) { $0.callbackPassword = "secret" }
        try await other.core.takeUpAll()
        #expect(other.receive(body: Self.callback("op-1"), headers: Self.basic("secret")) == 200)
        try await other.core.lookUpUnrecognized()
        #expect(bench.server.operations.first?.status == "CANCELED")
        // When none can be alive any more, nobody looks.
        bench.clock.advance(by: .seconds(326))
        try await other.core.step(key)
        #expect(try #require(try await other.core.ledger.load(key)).record.needsAttention == false)
        let shown = bench.server.with { $0.shows.count }
        _ = other.receive(body: Self.callback("op-9"), headers: Self.basic("secret"))
        try await other.core.lookUpUnrecognized()
        #expect(bench.server.with { $0.shows.count } == shown)
    }

    @Test func rule10AnotherOperationIsNoStray() async throws {
        let bench = try await Bench { $0.callbackPassword = "secret" }
        bench.server.with { state in
            state.script = [:]
            state.creationFailures = [(TestServer.unanswered(lost: true), isMade: true)]
        }
        _ = try await bench.desk.ask(Bench.request())
        bench.server.update { $0.allParameters["binding"] = "other" }
        _ = bench.desk.receive(body: Self.callback("op-1"), headers: Self.basic("secret"))
        try await bench.desk.core.lookUpUnrecognized()
        #expect(try await bench.state() == .drafted)
        #expect(bench.server.with { $0.cancellations } == [])
    }

    // MARK: 11

    @Test(arguments: [
        Approvers.Person("alice"), "ALICE", Approvers.Person("a.smith", users: ["alice", "alice2"]),
        Approvers.Person("x", users: ["Alice"]),
        "alice ", "\u{FF21}lice", "al\u{131}ce",
    ])
    func rule11TheRequesterIsNotAsked(_ requester: Approvers.Person) async throws {
        let bench = try await Bench()
        #expect(await bench.code(of: Bench.request(from: .user("alice").excluding(requester))) == .invalidRequest)
        #expect(bench.server.operations.isEmpty)
    }

    /// A database may take it for the name without what cannot be seen: one of these would be asked although she is excluded.
    @Test(arguments: ["alice\u{FE0F}", "alice\u{AD}", "\u{E000}alice", "al\u{2800}ice"]) func rule11NamesAreVisible(
        _ name: String
    ) async throws {
        let bench = try await Bench()
        let request = Bench.request(from: .user(name).excluding("alice"))
        #expect(await bench.code(of: request) == .invalidRequest)
        #expect(bench.server.operations.isEmpty)
    }

    @Test(arguments: ["Alice", "alice ", "bob", ""]) func rule11AnotherUsersOperationIsAMismatch(_ user: String)
        async throws
    {
        let bench = try await Bench()
        try await bench.decided()
        bench.server.update { $0.userID = user }
        #expect(await bench.code() == .bindingMismatch)
        #expect(await bench.code(of: Bench.request("deploy-2", from: .user(""))) == .invalidRequest)
    }

    @Test func rule11WhoMayNoLongerApproveDoesNotCount() async throws {
        let bench = try await Bench { $0.isEligible = { $0.id != "alice" } }
        #expect(await bench.code() == .failed)
        #expect(bench.runs.count == 0)
    }

    // MARK: 12

    @Test func rule12ADeviceThatWasEnrolledWhileAskedDoesNotCount() async throws {
        let bench = try await Bench()
        bench.server.with { state in
            state.registrations["device-1"]?.createdMilliseconds = TestServer.start + 1
        }
        #expect(await bench.code() == .deviceNotAccepted)
        #expect(bench.runs.count == 0)
    }

    @Test func rule12ADeviceMustBeOldEnoughOrNamed() async throws {
        let bench = try await Bench()
        var request = Bench.request()
        request.minimumDeviceAge = .seconds(86_401)
        #expect(await bench.code(of: request) == .deviceNotAccepted)
        bench.clock.advance(by: .seconds(10))
        var named = Bench.request("deploy-2")
        (named.minimumDeviceAge, named.devices) = (.seconds(1_000_000), ["device-1"])
        try await bench.perform(named)
        bench.clock.advance(by: .seconds(10))
        bench.server.with { state in
            state.registrations["device-4"] = .init(id: "device-4", status: "ACTIVE", userID: "alice", created: 0)
        }
        var other = Bench.request("deploy-3")
        other.devices = ["device-4"]
        #expect(await bench.code(of: other) == .deviceNotAccepted)
    }

    @Test func rule12ADeviceOfSomebodyElseDoesNotCount() async throws {
        let bench = try await Bench()
        bench.server.with { $0.script["alice"]?.registration = "device-2" }
        #expect(await bench.code() == .deviceNotAccepted)
        bench.clock.advance(by: .seconds(10))
        bench.server.with { $0.script["alice"]?.registration = "device-9" }
        #expect(await bench.code(of: Bench.request("deploy-2")) == .deviceNotAccepted)
    }

    @Test func rule12WhoHasNoDeviceIsNotAsked() async throws {
        let bench = try await Bench()
        for device in ["device-2", "device-9"] {
            #expect(await bench.code(of: altered(Bench.request()) { $0.devices = [device] }) == .noDevice)
        }
        bench.server.with { $0.registrations["device-1"]?.givenStatus = "BLOCKED" }
        #expect(await bench.code(of: altered(Bench.request()) { $0.devices = ["device-1"] }) == .noDevice)
        #expect(bench.server.operations.isEmpty)
    }

    @Test func rule12OtherFactorsDoNotCount() async throws {
        let bench = try await Bench()
        var request = Bench.request()
        request.factors = ["possession_biometry"]
        #expect(await bench.code(of: request) == .deviceNotAccepted)
    }

    // MARK: 13

    @Test(arguments: servers) func rule13ALoopAsksThreeTimes(_ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly, isAnswered: false)
        var codes: [ApprovalError.Code?] = []
        for number in 0..<20 {
            do {
                _ = try await bench.desk.ask(bench.readable(Bench.request("loop-\(number)")))
                codes.append(nil)
            } catch { codes.append((error as? ApprovalError)?.code) }
            bench.clock.advance(by: .seconds(10))
        }
        #expect(codes.count { $0 == nil } == 3)
        #expect(codes.count { $0 == .tooManyQuestions } == 17)
        #expect(bench.server.operations.count == 3)
    }

    /// A person with several user ids has one phone to be tired of.
    @Test func rule13SeveralUserIdsAreOnePerson() async throws {
        let bench = try await Bench(isAnswered: false)
        let names = ["alice", Approvers.Person("Alice Smith", users: ["asmith", "alice"]), "asmith"]
        _ = try await bench.desk.ask(Bench.request("a", from: .all(of: [names[0]])))
        #expect(await bench.code(of: Bench.request("b", from: .all(of: [names[1]]))) == .tooManyQuestions)
        bench.clock.advance(by: .seconds(10))
        _ = try await bench.desk.ask(Bench.request("b", from: .all(of: [names[1]])))
        #expect(await bench.code(of: Bench.request("c", from: .all(of: [names[2]]))) == .tooManyQuestions)
    }

    @Test func rule13APersonIsAskedTenSecondsApart() async throws {
        let bench = try await Bench(isAnswered: false)
        _ = try await bench.desk.ask(Bench.request("a"))
        bench.clock.advance(by: .seconds(9))
        await #expect(throws: ApprovalError.self) { try await bench.desk.ask(Bench.request("b")) }
        _ = try await bench.desk.ask(Bench.request("b", from: .user("bob")))
        bench.clock.advance(by: .seconds(1))
        _ = try await bench.desk.ask(Bench.request("c"))
    }

    /// Each creation whose answer is lost may have rung a phone.
    @Test func rule13LostAnswersAskNobodyWithoutEnd() async throws {
        let bench = try await Bench()
        bench.server.with { state in
            state.script = [:]
            state.creationFailures = Array(repeating: (TestServer.unanswered(lost: true), isMade: true), count: 50)
        }
        #expect(await bench.code() == .expired)
        #expect(bench.server.with { $0.creations.count } == 3)
        #expect(bench.runs.count == 0)
    }

    /// They still count as asked once the question is given up.
    @Test func rule13WhomALostCreationMayHaveReachedIsNotAskedAtOnce() async throws {
        let bench = try await Bench { $0.limits.questionInterval = .seconds(3_600) }
        bench.server.with { state in
            state.creationFailures = Array(repeating: (TestServer.unanswered(lost: true), isMade: false), count: 3)
        }
        #expect(await bench.code() == .expired)
        #expect(await bench.code(of: Bench.request("deploy-2")) == .tooManyQuestions)
    }

    @Test(arguments: servers) func rule13ARejectedQuestionStaysRejected(_ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly)
        bench.server.with { $0.script["alice"] = .init(status: "REJECTED", reason: "no") }
        let request = bench.readable(Bench.request())
        for _ in 0..<3 { #expect(await bench.code(of: request) == .rejected) }
        #expect(bench.server.operations.count == 1)
    }

    // MARK: 16

    @Test(arguments: ["APPROVED ", "approved", "ACCEPTED", "", "DONE", "PENDING_COMMIT"])
    func rule16AnUnknownStatusDecidesNothing(_ status: String) async throws {
        let bench = try await Bench()
        bench.server.with { $0.script["alice"] = .init(status: .init(rawValue: status)) }
        #expect(await bench.code() == .expired)
        #expect(bench.runs.count == 0)
    }

    @Test(arguments: servers) func rule16AServerThatIsAwayDecidesNothing(_ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly)
        bench.server.with { $0.showFailures = Array(repeating: TestServer.unanswered(lost: false), count: 1_000) }
        let request = bench.readable(Bench.request())
        #expect(await bench.code(of: request) == .expired)
        #expect(bench.runs.count == 0)
        bench.server.with { $0.showFailures = [] }
        #expect(await bench.code(of: request) == .expired)
    }

    @Test func rule16AServerThatComesBackInTimeDecides() async throws {
        let bench = try await Bench()
        bench.server.with { $0.showFailures = Array(repeating: TestServer.unanswered(lost: false), count: 3) }
        try await bench.perform()
        #expect(bench.runs.count == 1)
    }

    @Test func rule16ARefusalOfTheServerIsFinal() async throws {
        let bench = try await Bench()
        bench.server.with { state in
            state.creationFailures = [
                (.refused("ERROR_REQUEST"), isMade: false)
            ]
        }
        #expect(await bench.code() == .failed)
        #expect(await bench.code() == .failed)
        #expect(bench.server.with { $0.creations.count } == 1)
    }
}
