import ExactJSON
import Foundation
import TestSupport
import Testing

/// The device's keys on the command line, judged by OpenSSL.
@Suite(.timeLimit(.minutes(5))) struct DeviceKeyCommandTests {
    @Test func theKeyIsShownAndACertificateIsRequestedForIt() async throws {
        try await withActivatedProgram { emulator, home in
            let key = try await Program.run("device-key", home: home.url)
            #expect(key.exitCode == 0, "\(key.errors)")
            let json = try JSONValue(parsing: try await Program.run("device-key", "--json", home: home.url).output)
            #expect(json["pem"]?.string == key.output)
            #expect(Data(base64Encoded: json["raw"]?.string ?? "")?.count == 65)

            let request = try await Program.runWithPassword(
                ["certificate-request", #"/CN=approval\/bot/O=Example=Bank"#, "--names", "dns:bot.example.com ip:::1"],
                home: home.url
            )
            #expect(request.exitCode == 0, "\(request.errors)")
            let check = try await ChildProcess.run(
                "openssl",
                ["req", "-verify", "-noout", "-text", "-pubkey"],
                environment: ["PATH": "/usr/bin:/bin"],
                input: request.output
            )
            #expect((check.output + check.errors).contains("verify OK"))
            #expect(check.output.contains(key.output))
            #expect(check.output.contains("CN = approval/bot, O = Example=Bank"), "\(check.output)")
            #expect(check.output.contains("DNS:bot.example.com, IP Address:0:0:0:0:0:0:0:1"))
        }
    }

    @Test(arguments: ["", "CN=bot", "/", "/CN=", "/=bot", "/CN=bot\\", "/CN=bot/"])
    func aSubjectThatIsNoneIsWrongUsage(subject: String) async throws {
        try await withActivatedProgram { emulator, home in
            let outcome = try await Program.run("certificate-request", subject, home: home.url)
            #expect(outcome.exitCode == 2, "\(outcome.errors)")
        }
    }

    @Test func aKeyThatTheActivationDoesNotHaveIsNotShown() async throws {
        try await withActivatedProgram { emulator, home in
            let outcome = try await Program.run("device-key", "--ml-dsa", home: home.url)
            #expect(outcome.exitCode == 1)
            #expect(outcome.output.isEmpty)
        }
    }
}
