import ExactJSON
import MobileTokenTesting
import TestSupport
import Testing

/// The rules of the protocol, over HTTP and in Swift.
@Suite struct ProtocolControlTests {
    @Test func theRulesAreShownAndChanged() async throws {
        try await withEmulator { emulator async throws in
            let shown = try await emulator.ask("/protocol").body
            #expect(shown["minimumVersion"]?.int64 == 3 && shown["allowedSuites"] == [] && shown["upgradeOffers"] == [])
            #expect(shown["offeredSuites"]?.array?.first == "EC_P384")
            #expect(shown["documentedAnswersOnly"] == false)
            let change = #"""
                {"allowedSuites":["EC_P384"],"upgradeOffers":["mobile-token"],"unsupportedApplications":["mobile-token"],
                 "documentedAnswersOnly":true}
                """#
            let changed = try JSONValue(
                parsing: await emulator.send("PUT", "/_emulator/protocol", body: change).body
            )
            #expect(changed["minimumVersion"]?.int64 == 3 && changed["offeredSuites"] == ["EC_P384"])
            let rules = await emulator.protocolRules()
            #expect(rules.allowedSuites == [.p384] && rules.upgradeOffers == ["mobile-token"])
            #expect(rules.unsupportedApplications == ["mobile-token"] && rules.documentedAnswersOnly)
            try await emulator.reset()
            #expect(await emulator.protocolRules() == EmulatorProtocolRules())
        }
    }

    @Test func rulesThatNoDeviceCouldKeepAreRefused() async throws {
        try await withEmulator { emulator async throws in
            for change in [
                #"{"minimumVersion":5}"#, #"{"minimumVersion":2}"#, #"{"allowedSuites":["LEGACY_P256"]}"#,
                #"{"suites":[]}"#, #"{"upgradeOffers":"all"}"#, #"{"upgradeOffers":["none"]}"#,
                #"{"unsupportedApplications":["none"]}"#, "[]",
            ] {
                let response = try await emulator.send("PUT", "/_emulator/protocol", body: change)
                #expect(response.status == 400, "\(change)")
                if change.contains(":5") { #expect(response.text.contains("'minimumVersion' is not 3 to 4")) }
            }
            #expect(await emulator.protocolRules() == EmulatorProtocolRules())
        }
        var configuration = Emulator.Configuration()
        configuration.protocolRules.minimumVersion = 1
        await #expect(throws: EmulatorError.self) { try await Emulator.start(configuration: configuration) }
    }

    @Test func aRuleOfTheStartIsGoneBackTo() async throws {
        try await withEmulator(altered(.init()) { $0.protocolRules.minimumVersion = 4 }) { emulator async throws in
            let registration = try await emulator.cloud.register(userID: "alice")
            #expect(registration.activationQRCode.hasPrefix(registration.activationCode + "#"))
            try await emulator.setProtocolRules(EmulatorProtocolRules())
            try await emulator.reset()
            #expect(await emulator.protocolRules().minimumVersion == 4)
            await #expect(throws: CloudError.self) {
                try await emulator.cloud.register(userID: "alice", protocolVersion: "3.3")
            }
        }
    }
}
