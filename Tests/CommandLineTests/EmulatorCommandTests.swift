import TestSupport
import Foundation
import HTTPTransport
import MobileTokenEmulator
import Testing

/// `mobile-token emulator` as scripts and other languages use it.
@Suite(.timeLimit(.minutes(4))) struct EmulatorCommandTests {
    @Test(arguments: [SIGTERM, SIGINT]) func itSaysHowToReachItAndEndsWhenAsked(_ signal: Int32) async throws {
        let home = try CommandLineHome()
        defer { home.remove() }
        let program = try Program.start(
            ["emulator", "--json", "--user", "bank", "--password", "secret"],
            home: home.url
        )
        let line = try #require(await program.nextLine())
        let document = try JSONValue(parsing: line)
        let names = [
            "baseURL", "sdkConfiguration", "applicationKey", "applicationSecret", "masterServerPublicKey", "cloudUser",
            "cloudPassword", "applicationId",
        ]
        for name in names { #expect(document[name]?.string?.isEmpty == false, "\(name)") }
        #expect(document["cloudUser"]?.string == "bank")
        #expect(document["cloudPassword"]?.string == "secret")

        // It accepts connections by the time the line is there.
        let transport = try CurlTransport()
        let url = try #require(document["baseURL"]?.string)
        let request = HTTPRequest(url: url + "/pa/v3/status", headers: ["Content-Type": "application/json"], body: [])
        #expect(try await transport.send(request).status == 200)
        await transport.shutdown()

        program.send(signal: signal)
        #expect(await program.outcome().exitCode == 0)
    }

    @Test func aTakenPortIsSaidPlainly() async throws {
        let home = try CommandLineHome()
        defer { home.remove() }
        let emulator = try await Emulator.start()
        let outcome = try await Program.run("emulator", "--port", "\(emulator.port)", home: home.url)
        await emulator.stop()
        #expect(outcome.exitCode == 1)
        #expect(outcome.errors.contains("addressInUse"))
    }

    @Test func aCommandRunsBesideItAndItsExitStatusCounts() async throws {
        let home = try CommandLineHome()
        defer { home.remove() }
        let script = """
            test -n "$MOBILE_TOKEN_URL" && test -n "$MOBILE_TOKEN_SDK_CONFIGURATION" && test -n "$MOBILE_TOKEN_CLOUD_URL" \
            && test "$MOBILE_TOKEN_CLOUD_USER" = bank && test -n "$MOBILE_TOKEN_CLOUD_PASSWORD" && exit 7
            """
        let outcome = try await Program.run(
            "emulator",
            "exec",
            "--user",
            "bank",
            "--",
            "sh",
            "-c",
            script,
            home: home.url
        )
        #expect(outcome.exitCode == 7, "\(outcome.errors)")
    }

    @Test func theStateIsExportedAtTheEndAndCanBeTheNextStart() async throws {
        let home = try CommandLineHome()
        defer { home.remove() }
        let file = home.url.appending(path: "state.json")
        let first = try await Program.run(
            "emulator",
            "exec",
            "--export-on-exit",
            file.path,
            "--",
            "sh",
            "-c",
            "echo $MOBILE_TOKEN_SDK_CONFIGURATION",
            home: home.url
        )
        #expect(first.exitCode == 0, "\(first.errors)")
        let second = try await Program.run(
            "emulator",
            "exec",
            "--seed",
            file.path,
            "--",
            "sh",
            "-c",
            "echo $MOBILE_TOKEN_SDK_CONFIGURATION",
            home: home.url
        )
        #expect(second.output == first.output && !second.output.isEmpty)
    }
}
