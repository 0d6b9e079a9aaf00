import ExactJSON
import Foundation
import MobileTokenEmulator
import TestSupport
import Testing

/// Several activations on one machine.
@Suite(.timeLimit(.minutes(5))) struct ProfileCommandTests {
    @Test func profilesAreListedChosenAndRemoved() async throws {
        try await withProgramAndServer { emulator, home in
            #expect(try await Program.run("profile", "list", home: home.url).output == "No profiles.\n")
            let alice = try await Program.activate(at: emulator, home: home.url)
            let registration = try await emulator.cloud.register(userID: "bob")
            let activate = try await Program.run(
                "activate",
                registration.activationQRCode,
                "--password-stdin",
                home: home.url,
                input: "1234\n",
                environment: [
                    "MOBILE_TOKEN_PROFILE": "bob", "MOBILE_TOKEN_URL": emulator.baseURL,
                    "MOBILE_TOKEN_SDK_CONFIGURATION": emulator.sdkConfiguration,
                ]
            )
            #expect(activate.exitCode == 0, "\(activate.errors)")
            func current() async throws -> String? {
                try JSONValue(parsing: try await Program.run("status", "--json", home: home.url).output)[
                    "activationId"
                ]?
                .string
            }
            #expect(try await current() == alice)
            #expect(try await Program.run("profile", "use", "bob", home: home.url).exitCode == 0)
            #expect(try await current() == registration.id)

            let list = try await Program.run("profile", "list", "--json", home: home.url)
            let profiles = try #require(try JSONValue(parsing: list.output).array)
            #expect(profiles.map { $0["name"]?.string } == ["bob", "default"])
            #expect(profiles.map { $0["isDefault"]?.bool } == [true, false])
            #expect(profiles.map { $0["activationId"]?.string } == [registration.id, alice])

            #expect(try await Program.run("profile", "remove", "bob", home: home.url).exitCode == 2)
            let remove = try await Program.run("profile", "remove", "bob", "--discard-activation", home: home.url)
            #expect(remove.exitCode == 0, "\(remove.errors)")
            #expect(!FileManager.default.fileExists(atPath: home.file("bob")))
            #expect(try await current() == alice)
        }
    }

    @Test(arguments: ["../elsewhere", ".default", "a/b", "", "e\u{301}"])
    func whatIsNoNameIsRefused(name: String) async throws {
        let home = try TemporaryFolder()
        for command in ["use", "remove"] {
            #expect(try await Program.run("profile", command, name, home: home.url).exitCode == 2)
        }
    }

    @Test func aProfileThatIsNotThereIsNotFound() async throws {
        let home = try TemporaryFolder()
        #expect(try await Program.run("profile", "use", "nobody", home: home.url).exitCode == 4)
        #expect(try await Program.run("profile", "remove", "nobody", home: home.url).exitCode == 4)
    }
}
