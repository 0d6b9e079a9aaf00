import ExactJSON
import Foundation
import MobileToken
import MobileTokenEmulator
import MobileTokenReceipts
import MobileTokenTesting
import Testing

/// The program itself: its signals, its exit status, and what it writes.
@Suite(.timeLimit(.minutes(4)), .serialized) struct ProcessTests {
    @Test(arguments: [SIGTERM, SIGINT]) func aSignalEndsItInOrder(signal: Int32) async throws {
        try await Stage.with { stage in
            let operation = try await stage.createOperation("payment", amount: "20")
            let file = try stage.folder.write("configuration.json", stage.configuration(#", "gracePeriodSeconds": 20"#))
            // The signal comes while the approval is on its way, and the bank takes its time.
            let path = "/api/auth/token/app/operation/authorize"
            try await stage.emulator.withFault(.init(delay: 1), on: path) {
                let program = try DaemonProcess(["--config", file])
                while !(await program.nextLine()?.contains(#""kind":"judged""#) ?? true) {}
                program.send(signal)
                program.send(signal)  // the same one, to the process and to its group
                let begun = ContinuousClock.now
                let status = await program.exitStatus()
                #expect(status == 0)
                #expect(begun.duration(to: .now) < .seconds(20))
                let log = try stage.checkLog(program.log)
                #expect(log.last?["message"]?.string == "stopped")
                #expect(log.contains { $0["message"]?.string == "shutting down" })
            }
            // Either nothing was signed yet, or what was signed came to its end, and its receipt says so.
            let decided = try await stage.emulator.cloud.operation(operation).status
            #expect(try await stage.receipts().map(\.outcome?.result) == (decided == .approved ? [.accepted] : []))
        }
    }

    /// After a wrong password nothing is decided, until the file is mended and SIGHUP comes; a file that is refused changes nothing.
    @Test func afterSIGHUPItDecidesWithTheNewPassword() async throws {
        try await Stage.with { stage in
            let right = try String(contentsOfFile: stage.folder.file("passwords"), encoding: .utf8)
            try stage.folder.write("passwords", "* wrong-horse\n")
            let operation = try await stage.createOperation("payment", amount: "20")
            let program = try DaemonProcess(["--config", try stage.folder.write("c.json", stage.configuration())])
            let daemon = try RunningDaemon(url: try await program.statusURL())
            try await program.waitForLine(with: #""kind":"stopped""#)
            try await daemon.waitUntilUnwell(because: "activationStopped")
            let stopped = #"approval_daemon_stopped_activations{reason="authenticationFailed"} 1.0"#
            #expect(try await daemon.get("/metrics").body.contains(stopped))

            try stage.folder.write("passwords", right, mode: 0o644)
            program.send(SIGHUP)
            try await program.waitForLine(with: #""message":"passwords refused""#)
            #expect(try await daemon.get("/metrics").body.contains(stopped))
            try stage.folder.write("passwords", "other wrong\n")
            program.send(SIGHUP)
            try await program.waitForLine(with: #""message":"password not read""#)
            #expect(try await stage.emulator.cloud.operation(operation).status == .pending)

            try stage.folder.write("passwords", right)
            program.send(SIGHUP)
            #expect(await stage.emulator.decision(on: operation)?.status == .approved)
            try await daemon.waitUntilWell()
            #expect(try await !daemon.get("/metrics").body.contains("approval_daemon_stopped_activations"))
            program.send(SIGTERM)
            #expect(await program.exitStatus() == 0, "\(program.log)")
            _ = try stage.checkLog(program.log)
        }
    }

    @Test func aWrongConfigurationIsRefusedByName() async throws {
        try await Stage.with { stage in
            let file = try stage.folder.write("c.json", stage.configuration(#", "policies": {}"#))
            for arguments in [["--config", file], ["--check", "--config", file], ["--probe", "--config", file]] {
                let program = try DaemonProcess(arguments)
                #expect(await program.exitStatus() == 78)
                let line = try #require(try stage.checkLog(program.log).first)
                #expect(line["message"]?.string == "configuration refused")
                #expect(line["setting"]?.string == "policies")
            }
            let right = try stage.folder.write("d.json", stage.configuration())
            #expect(try await DaemonProcess(["--check", "--config", right]).exitStatus() == 0)
            let variables = ["APPROVAL_DAEMON_SERVER_BASE_URL": "http://bank.example"]
            let insecure = try DaemonProcess(["--config", right], variables)
            #expect(await insecure.exitStatus() == 78)
            #expect(try stage.checkLog(insecure.log).first?["setting"]?.string == "server.baseURL")
            try stage.folder.write("passwords", "* x\n", mode: 0o644)
            let exposed = try DaemonProcess(["--config", right])
            #expect(await exposed.exitStatus() == 78)
            #expect(try stage.checkLog(exposed.log).first?["setting"]?.string == "passwordFile")
            #expect(try await DaemonProcess(["--what"]).exitStatus() == 64)
            #expect(try await DaemonProcess(["--probe", "--config", right]).exitStatus() == 1)
        }
    }

    /// Root may use every file, and so finds nothing; the user that the daemon runs as finds what it will.
    @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
    func theCheckIsThatOfTheUserWhoCalls() async throws {
        try await Stage.with { stage in
            let file = try stage.folder.write("c.json", stage.configuration())
            func give(_ names: String..., to user: uid_t) {
                for name in names { #expect(chown(stage.folder.file(name), user, user) == 0) }
            }
            give(".", "c.json", "passwords", "store", "store/activations.sqlite", to: 65_534)
            give("store/activations.sqlite.key", to: 65_534)
            #expect(try await self.check(file, as: "nobody").status == 0)

            let cases = [
                ("c.json", stage.folder.file("c.json")), ("passwords", "passwordFile"),
                ("store/activations.sqlite", "store.path"), ("store/activations.sqlite.key", "store.sealingKey"),
            ]
            for (name, setting) in cases {
                chmod(stage.folder.file(name), 0o600)
                give(name, to: 0)
                let refused = try await self.check(file, as: "nobody")
                #expect(refused.status == 78)
                #expect(refused.log.last?["setting"]?.string == setting)
                if name == "passwords" { #expect(try await self.check(file, as: "root").status == 0) }
                give(name, to: 65_534)
            }
            try FileManager.default.removeItem(atPath: stage.folder.file("store"))
            give(".", to: 65_534)
            #expect(try await self.check(file, as: "nobody").status == 0)
            chmod(stage.folder.path, 0o500)
            #expect(try await self.check(file, as: "nobody").log.last?["setting"]?.string == "store.path")
        }
    }

    private func check(_ file: String, as user: String) async throws -> (status: Int32, log: [JSONValue]) {
        let program = try DaemonProcess(["--check", "--config", file], user: user)
        let status = await program.exitStatus()
        let log = try program.log.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
        #expect(log.contains { $0["message"]?.string?.hasPrefix("checked as root") == true } == (user == "root"))
        return (status, log)
    }

    /// The options that the README tells to use are the program's.
    @Test func theREADMECallsTheProgramAsItWants() async throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "README.md")
        let readme = try String(contentsOf: file, encoding: .utf8)
        let calls = Set(
            readme.matches(of: #/(?:[` ]|/bin/)approval-daemon((?: --[a-z]+)+)/#).map { String($0.output.1) }
        )
        #expect(calls.contains(" --check"))
        for call in calls {
            let options = call.split(separator: " ").map(String.init)
            let program = try DaemonProcess(options + ["--config", "/none"])
            #expect(await program.exitStatus() == 78, "\(call)")
        }
    }

    /// The key of a store that is there already comes from wherever the configuration says, and no other one is made.
    @Test(arguments: ["file:FOLDER/elsewhere", "env:STORE_KEY", "command:cat FOLDER/base64"])
    func theSealingKeyComesFromItsPlaceOrNothingIsDecided(place: String) async throws {
        try await Stage.with { stage in
            let place = place.replacingOccurrences(of: "FOLDER", with: stage.folder.path)
            let beside = stage.storePath + ".key"
            let key = try Data(contentsOf: URL(filePath: beside))
            try FileManager.default.moveItem(atPath: beside, toPath: stage.folder.file("elsewhere"))
            try stage.folder.write("base64", key.base64EncodedString())
            let file = try stage.folder.write("c.json", stage.configuration())
            let variables = [
                "STORE_KEY": key.base64EncodedString(), "APPROVAL_DAEMON_STORE_SEALING_KEY": place,
                "WRONG": Data(repeating: 7, count: 32).base64EncodedString(),
            ]
            let program = try DaemonProcess(["--config", file], variables)
            // It is well when it has polled for the activation in the store.
            try await RunningDaemon(url: try await program.statusURL()).waitUntilWell()
            program.send(SIGTERM)
            #expect(await program.exitStatus() == 0, "\(program.log)")

            for other in [
                "file:\(stage.folder.path)/none", "env:NONE", "env:WRONG", "command:echo \(variables["WRONG"] ?? "")",
            ] {
                let (status, line) = try await self.refusal(of: other, stage, file, variables)
                #expect(status == 78, "\(other)")
                #expect(line["message"]?.string == "configuration refused")
                #expect(line["setting"]?.string == "store.sealingKey")
            }
            // The program may have a key to give the next time.
            let (status, line) = try await self.refusal(of: "command:false", stage, file, variables)
            #expect(status == 74)
            #expect(line["message"]?.string == "the store cannot be used")
            #expect(!FileManager.default.fileExists(atPath: stage.folder.file("none")))
            #expect(!FileManager.default.fileExists(atPath: beside))
        }
    }

    /// Returns how the program ends with a sealing key from another place, and the last line of its log.
    private func refusal(
        of place: String,
        _ stage: Stage,
        _ file: String,
        _ variables: [String: String]
    ) async throws -> (status: Int32, line: JSONValue) {
        let variables = variables.merging(["APPROVAL_DAEMON_STORE_SEALING_KEY": place]) { $1 }
        let refused = try DaemonProcess(["--config", file], variables)
        let status = await refused.exitStatus()
        #expect(!refused.log.contains(variables["STORE_KEY"] ?? ""))
        return (status, try #require(try stage.checkLog(refused.log).last))
    }

    @Test func theProbeAsksARunningDaemon() async throws {
        try await Stage.with { stage in
            let file = try stage.folder.write("c.json", stage.configuration())
            let program = try DaemonProcess(["--config", file])
            let url = try await program.statusURL()
            let port = try #require(url.split(separator: ":").last.map(String.init))
            try await RunningDaemon(url: url).waitUntilWell()
            let probe = try DaemonProcess(["--probe", "--config", file], ["APPROVAL_DAEMON_STATUS_PORT": port])
            #expect(await probe.exitStatus() == 0)
            // Another one finds the port taken.
            let second = try DaemonProcess(["--config", file], ["APPROVAL_DAEMON_STATUS_PORT": port])
            #expect(await second.exitStatus() == 69)
            program.send(SIGTERM)
            #expect(await program.exitStatus() == 0)
        }
    }
}
