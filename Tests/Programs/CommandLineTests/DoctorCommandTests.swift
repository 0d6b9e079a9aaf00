import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

/// The findings of `doctor` about a server, without a signature.
@Suite(.timeLimit(.minutes(5))) struct DoctorCommandTests {
    private typealias Findings = [String: (text: String, remedy: String?, isWrong: Bool)]

    private func examine(
        _ emulator: Emulator,
        _ home: TemporaryFolder,
        url: String? = nil,
        configuration: String? = nil
    ) async throws -> (exitCode: Int32, findings: Findings) {
        let outcome = try await Program.run(
            [
                "doctor", "--json", "--url", url ?? emulator.baseURL, "--sdk-configuration",
                configuration ?? emulator.sdkConfiguration,
            ],
            home: home.url
        )
        let document = try JSONValue(parsing: outcome.output).array ?? []
        let findings = document.map { finding in
            let isWrong = finding["isWrong"] == .bool(true)
            return (
                finding["subject"]?.string ?? "",
                (finding["text"]?.string ?? "", finding["remedy"]?.string, isWrong)
            )
        }
        return (outcome.exitCode, Findings(findings) { first, _ in first })
    }

    @Test(arguments: EmulatorServerProfile.Release.allCases)
    func aServerOfEachReleaseIsWell(_ release: EmulatorServerProfile.Release) async throws {
        try await withEmulator(altered(.init()) { $0.profile = EmulatorServerProfile(release) }) { emulator in
            let home = try TemporaryFolder()
            let (exitCode, findings) = try await self.examine(emulator, home)
            #expect(exitCode == 0, "\(findings)")
            #expect(findings.values.allSatisfy { !$0.isWrong })
            #expect(findings["application"]?.text == "known, and its keys are this server's")
            #expect(findings["operations"]?.text == "enabled" && findings["inbox"]?.text == "enabled")
            // Releases before 2.0 answer 404 (core.jsonl, "v4 /pa/v3/status").
            let isOld = release == .v1_9 || release == .v1_10
            #expect(findings["protocol"]?.text == (isOld ? "version 3" : "versions 3 and 4"))
        }
    }

    @Test func anActivationIsLookedAtWithoutASignature() async throws {
        try await withActivatedProgram { emulator, home, id in
            func signatures() async -> Int {
                await emulator.journal().count { $0.headers.contains { $0.name == "X-PowerAuth-Authorization" } }
            }
            let before = await signatures()
            var findings = try await self.examine(emulator, home).findings
            #expect(findings["activation"]?.text == "\(id), active")
            #expect(findings["list"]?.remedy == "'list' makes the token that it takes")
            #expect(await signatures() == before)

            _ = try await Program.run("list", home: home.url)
            let withToken = await signatures()
            findings = try await self.examine(emulator, home).findings
            #expect(findings["list"]?.text == "0 operations")
            #expect(await signatures() == withToken)
        }
    }

    @Test func eachWayOfBeingWrongHasItsRemedy() async throws {
        try await withProgramAndServer { emulator, home in
            let nowhere = try await self.examine(emulator, home, url: "http://127.0.0.1:1")
            #expect(nowhere.exitCode == 3 && nowhere.findings["server"]?.isWrong == true)

            let elsewhere = try await self.examine(emulator, home, url: emulator.baseURL + "/nothing")
            #expect(elsewhere.exitCode == 1)
            #expect(elsewhere.findings["server"]?.remedy?.contains("--powerauth-url") == true)
            // No setting is blamed for a wrong address, nor for the page of another server.
            #expect(Array(elsewhere.findings.keys) == ["server"])

            try await withEmulator { other in
                let foreign = try await self.examine(emulator, home, configuration: other.sdkConfiguration)
                #expect(foreign.exitCode == 1 && foreign.findings["application"]?.isWrong == true)
            }

            var effect = FaultRule.Effect()
            effect.page = FaultRule.Effect.Page(.before, status: 403)
            await emulator.faults.set([FaultRule(effect: effect)])
            let page = try await self.examine(emulator, home)
            #expect(page.exitCode == 1)
            #expect(page.findings["server"]?.text == "the answer with HTTP 403 is not a PowerAuth server's")
            #expect(Array(page.findings.keys) == ["server"])
            await emulator.faults.removeAll()

            await emulator.clock.advance(by: .seconds(3_600))
            let late = try await self.examine(emulator, home)
            #expect(late.exitCode == 0 && late.findings["time"]?.text.hasSuffix("behind the server's") == true)
        }
    }
}
