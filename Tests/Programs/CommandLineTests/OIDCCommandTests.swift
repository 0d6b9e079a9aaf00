import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenTesting
import TestSupport
import Testing

/// `mobile-token activate --oidc`, with a browser's part played by the test.
@Suite(.timeLimit(.minutes(5))) struct OIDCCommandTests {
    @Test func aUserWhoSignsInIsActivated() async throws {
        try await withProgramAndServer { emulator, home in
            let passwordFile = home.url.appending(path: "password")
            try Data("1234\n".utf8).write(to: passwordFile)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: passwordFile.path)
            let program = try Program.start(
                [
                    "activate", "--oidc", "emulator", "--url", emulator.baseURL, "--sdk-configuration",
                    emulator.sdkConfiguration, "--password-file", passwordFile.path, "--json",
                ],
                home: home.url
            )
            #expect(await program.nextErrorLine() == "Sign in at:")
            let url = await program.nextErrorLine()
            let browser = try CurlTransport()
            let response = try await browser.send(
                HTTPRequest(.get, url: try #require(url) + "&login_hint=alice")
            )
            await browser.shutdown()
            program.write("\(try #require(response.headers["Location"]))\n")
            let outcome = await program.outcome()
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            let activation = try #require(await emulator.activations().first)
            #expect(activation.userID == "alice" && activation.status == .active)
            #expect(try JSONValue(parsing: outcome.output)["activationId"]?.string == activation.id)
        }
    }

    @Test(arguments: [["CODE", "--oidc", "emulator"], [], ["--oidc", "emulator", "--password-stdin"]])
    func aCallThatMakesNoSenseIsRefused(words: [String]) async throws {
        try await withProgramAndServer { emulator, home in
            let server = ["--url", emulator.baseURL, "--sdk-configuration", emulator.sdkConfiguration]
            let outcome = try await Program.run(["activate"] + words + server, home: home.url)
            #expect(outcome.exitCode == 2)
            #expect(await emulator.journal().isEmpty)
        }
    }
}
