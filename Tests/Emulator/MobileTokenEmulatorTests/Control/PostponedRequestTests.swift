import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// A busy server, or a proxy before it, holds requests, repeats them, delivers them late, or answers in the server's stead.
@Suite(.timeLimit(.minutes(5))) struct PostponedRequestTests {
    private static func withFault<Result>(
        _ effect: FaultRule.Effect,
        _ body: (Emulator) async throws -> Result
    ) async throws -> Result {
        try await withEmulator { emulator async throws in
            await emulator.clock.freeze()
            await emulator.faults.add(FaultRule(name: "busy", match: .init(path: "/v2/registrations"), effect: effect))
            return try await body(emulator)
        }
    }

    /// Sends a registration, and does not wait for the answer.
    private static func register(_ userID: String, at emulator: Emulator) async throws -> RawConnection {
        let (headers, body) = ([emulator.authorization], #"{"userId":"\#(userID)"}"#)
        return try await emulator.begin("POST", "/v2/registrations", headers: headers, body: body)
    }

    private static func wait(for count: Int, at emulator: Emulator) async {
        while await emulator.faults.counts.first?.waiting != count { await Task.yield() }
    }

    private static func users(_ emulator: Emulator) async -> [String?] {
        await emulator.activations().reversed().map(\.userID)
    }

    private static func accounts(_ emulator: Emulator) async -> [String?] {
        await emulator.journal().filter { $0.fault == "busy" }.map(\.faultEffect)
    }

    @Test func heldRequestsAreCarriedOutInTheirOrderAlthoughAClientHasGone() async throws {
        try await Self.withFault(.init(hold: 30)) { emulator async throws in
            var gone: RawConnection? = try await Self.register("first", at: emulator)
            await Self.wait(for: 1, at: emulator)
            gone?.reset()
            gone = nil
            let second = try await Self.register("second", at: emulator)
            await Self.wait(for: 2, at: emulator)
            #expect(
                try await emulator.settle().map(\.description)
                    == Array(repeating: "request busy goes to /v2/registrations", count: 2)
            )
            await emulator.clock.advance(by: .seconds(29))
            #expect(await Self.users(emulator) == [])
            await emulator.clock.advance(by: .seconds(1))
            #expect(await Self.users(emulator) == ["first", "second"])
            #expect(try await second.response().status == 200)
            #expect(await Self.accounts(emulator) == Array(repeating: "waited 30.0 s, carried out", count: 2))
        }
    }

    @Test(arguments: ["release", "remove"]) func whatIsHeldIsReleasedByACall(call: String) async throws {
        try await Self.withFault(.init(hold: 3600)) { emulator async throws in
            let client = try await Self.register("alice", at: emulator)
            await Self.wait(for: 1, at: emulator)
            #expect(try await emulator.send("POST", "/_emulator/faults/release?name=other").status == 404)
            #expect(await Self.users(emulator) == [])
            let path = "/_emulator/faults\(call == "release" ? "/release" : "")?name=busy"
            let told = try await emulator.send(call == "release" ? "POST" : "DELETE", path)
            #expect(await Self.users(emulator) == ["alice"])
            let counts = call == "release" ? #"[{"name":"busy","matched":1,"struck":1,"waiting":0}]"# : "[]"
            #expect(told.text.contains(#""counts":\#(counts)"#))
            #expect(try await client.response().status == 200)
        }
    }

    @Test(arguments: ["reset", "stop"]) func whatIsHeldIsForgottenWithTheState(end: String) async throws {
        try await Self.withFault(.init(hold: 3600)) { emulator async throws in
            let client = try await Self.register("alice", at: emulator)
            await Self.wait(for: 1, at: emulator)
            if end == "reset" { try await emulator.reset() } else { await emulator.stop() }
            #expect(await client.readUntilEnd().bytes.isEmpty)
            #expect(await Self.users(emulator) == [])
        }
    }

    @Test(arguments: [
        (FaultRule.Effect(late: 5), 504, "to be carried out later"),
        (.init(status: 500, late: 5), 500, "to be carried out later"),
        (
            .init(page: .init(.before, status: 401), late: 5), 401,
            "to be carried out later, answered by a page with 401"
        ),
        (.init(reset: .before, late: 5), 0, "to be carried out later, the connection was reset"),
    ])
    func aLateRequestIsAnsweredFirstAndCarriedOutAfterwards(
        effect: FaultRule.Effect,
        status: Int,
        account: String
    ) async throws {
        try await Self.withFault(effect) { emulator async throws in
            let client = try await Self.register("alice", at: emulator)
            if status == 0 {
                #expect(await client.readUntilEnd().end == .reset)
            } else {
                #expect(try await client.response().status == status)
            }
            #expect(await Self.users(emulator) == [])
            await emulator.clock.advance(by: .seconds(5))
            #expect(await Self.users(emulator) == ["alice"])
            #expect(await Self.accounts(emulator) == [account, "waited 5.0 s, carried out"])
            #expect(await emulator.journal().map(\.isAccepted) == [false, true])
        }
    }

    @Test(arguments: [FaultRule.Effect.Answer.first, .second])
    func aRepeatedRequestIsCarriedOutTwice(answer: FaultRule.Effect.Answer) async throws {
        try await Self.withFault(.init(repeat: answer)) { emulator async throws in
            let response = try await Self.register("alice", at: emulator).response()
            let id = try JSONValue(parsing: response.body)["registrationId"]?.string
            let made = await emulator.activations().reversed().map(\.id)
            #expect(made.count == 2 && id == (answer == .first ? made.first : made.last))
            let (first, second) = answer == .first ? ("sent", "not sent") : ("not sent", "sent")
            #expect(
                await Self.accounts(emulator) == [
                    "carried out for the first of two times, this answer was \(first)",
                    "carried out for the second of two times, this answer was \(second)",
                ]
            )
        }
    }

    @Test(arguments: [FaultRule.Effect.Moment.before, .after], [200, 204, 302, 403, 499])
    func aPageTakesThePlaceOfTheAnswer(when: FaultRule.Effect.Moment, status: Int) async throws {
        try await Self.withFault(.init(page: .init(when, status: status, text: "{}"))) { emulator async throws in
            let response = try await Self.register("alice", at: emulator).response()
            #expect(response.status == status && response.text == (status == 204 ? "" : "{}"))
            #expect(await Self.users(emulator) == (when == .before ? [] : ["alice"]))
            let account = "\(when == .before ? "not " : "")carried out, answered by a page with \(status)"
            #expect(await Self.accounts(emulator) == [account])
        }
    }

    @Test func aRequestLosesAHeaderField() async throws {
        try await Self.withFault(.init(strip: "authorization")) { emulator async throws in
            #expect(try await Self.register("alice", at: emulator).response().status == 401)
            #expect(await Self.accounts(emulator) == ["lost authorization, carried out"])
        }
    }

    /// A virtual device gives up as other clients do; its request is carried out all the same.
    @Test func aHeldRequestOutlivesItsDevice() async throws {
        let clock = ManualClock()
        let core = try EmulatorCore(configuration: Emulator.Configuration(), clock: clock)
        await core.setFaults([FaultRule(effect: .init(hold: 3600))])
        let transport = core.deviceSite(of: DeviceCaller(name: "phone", epoch: core.devices.epoch)).transport
        let sending = Task { try await transport.send(HTTPRequest(url: DeviceTransport.baseURL + "/pa/v3/status")) }
        while await core.faultCounts.first?.waiting != 1 { await Task.yield() }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(20))
        await #expect(throws: HTTPTransportError(.timeout, detail: "the response took too long")) {
            try await sending.value
        }
        await core.releaseFaults(named: nil)
        #expect(await core.journal(since: 0, limit: 2).entries.map(\.status) == [200])
    }

    @Test(arguments: [
        (#"{"hold":0}"#, "'effect.hold' is 0, which does nothing"),
        (#"{"late":0}"#, "'effect.late' is 0, which does nothing"),
        (#"{"hold":1,"late":1}"#, "'effect.late' is given beside 'hold'"),
        (#"{"hold":1,"status":500}"#, "'effect.hold' does nothing where the request is not looked at"),
        (#"{"repeat":"first","reset":"before"}"#, "'effect.repeat' does nothing where the request is not looked at"),
        (#"{"strip":"A","page":{"status":403}}"#, "'effect.strip' does nothing where the request is not looked at"),
        (#"{"status":500,"page":{"status":403}}"#, "'effect.page' is given beside 'status'"),
        (#"{"reset":"after","page":{"status":403}}"#, "'effect.page' does nothing where the connection is reset"),
        (#"{"late":1,"reset":"after"}"#, "'effect.reset' is 'after', and what is late is answered before"),
        (#"{"late":1,"page":{"status":403,"when":"after"}}"#, "'effect.page.when' is 'after', and what is late"),
        (#"{"repeat":"third"}"#, "'effect.repeat' is none of first, second"),
    ])
    func anEffectThatContradictsItselfIsRefused(effect: String, reason: String) async throws {
        try await withEmulator { emulator async throws in
            let response = try await emulator.send("POST", "/_emulator/faults", body: #"{"effect":\#(effect)}"#)
            #expect(response.status == 400 && response.text.contains(reason), "\(response.text)")
        }
    }

    @Test func theFaultsOfARealServerAreRulesLikeOthers() async throws {
        try await withEmulator { emulator async throws in
            #expect(try await emulator.send("POST", "/_emulator/faults/real").status == 200)
            #expect(await emulator.faults.rules == FaultRule.real)
            let told = try await emulator.send("GET", "/_emulator/faults")
            #expect(try await emulator.send("PUT", "/_emulator/faults", body: told.text).status == 200)
        }
    }
}
