import ExactJSON
import TestSupport
import Foundation
import HTTPClientTransport
import MobileTokenEmulator
import Testing

/// `mobile-token emulator` as scripts and other languages use it.
@Suite(.timeLimit(.minutes(5))) struct EmulatorCommandTests {
    private let home: TemporaryFolder

    init() throws { self.home = try TemporaryFolder() }

    @Test(arguments: [SIGTERM, SIGINT]) func itSaysHowToReachItAndEndsWhenAsked(_ signal: Int32) async throws {
        let program = try Program.start(
            ["emulator", "--json", "--user", "bank", "--password", "secret"],
            home: self.home.url
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

    @Test func versionsAndSuitesAreChosenAtTheStart() async throws {
        let program = try Program.start(
            [
                "emulator", "--json", "--minimum-version", "4", "--suites", "EC_P384", "--offer-upgrade", "--server",
                "2.1", "--documented-answers",
            ],
            home: self.home.url
        )
        let document = try JSONValue(parsing: try #require(await program.nextLine()))
        let url = try #require(document["baseURL"]?.string)
        let transport = try CurlTransport()
        let request = HTTPRequest(.get, url: url.replacing("/enrollment-server", with: "/_emulator/protocol"))
        let rules = try JSONValue(parsing: await transport.send(request).body)
        #expect(rules["minimumVersion"]?.int64 == 4 && rules["offeredSuites"] == ["EC_P384"])
        #expect(rules["upgradeOffers"] == ["mobile-token"])
        #expect(rules["server"] == "2.1")
        #expect(rules["documentedAnswersOnly"] == true)
        await transport.shutdown()
        program.send(signal: SIGTERM)
        #expect(await program.outcome().exitCode == 0)
        for words in [
            ["--minimum-version", "5"], ["--suites", "LEGACY_P256"], ["--suites", "EC_P384,,x"], ["--server", "3"],
        ] {
            #expect(try await Program.run(["emulator"] + words, home: self.home.url).exitCode == 2)
        }
    }

    @Test func withTLSItSaysWhatToTrustAndTheProgramCanUseIt() async throws {
        let server = try Program.start(["emulator", "--tls", "--json", "--register", "alice"], home: self.home.url)
        let document = try JSONValue(parsing: try #require(await server.nextLine()))
        let registration = try JSONValue(parsing: try #require(await server.nextLine()))
        let url = try #require(document["baseURL"]?.string)
        let (file, pin) = (try #require(document["caFile"]?.string), try #require(document["pin"]?.string))
        #expect(url.hasPrefix("https://"))
        #expect(FileManager.default.fileExists(atPath: file))

        let code = try #require(registration["activationCode"]?.string)
        let configuration = try #require(document["sdkConfiguration"]?.string)
        func activate(_ options: String...) async throws -> Int32 {
            let words = ["activate", code, "--url", url, "--sdk-configuration", configuration, "--password-stdin"]
            return try await Program.run(words + options, home: self.home.url, input: "1234\n").exitCode
        }
        let wrongPin = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
        #expect(try await activate() == 11)
        #expect(try await activate("--ca-file", file, "--pin", wrongPin) == 11)
        #expect(try await activate("--ca-file", file, "--pin", pin) == 0)
        // The profile keeps what to trust; an option goes before it.
        #expect(try await Program.run("status", home: self.home.url).exitCode == 0)
        #expect(try await Program.run("status", "--pin", wrongPin, home: self.home.url).exitCode == 11)

        server.send(signal: SIGTERM)
        #expect(await server.outcome().exitCode == 0)
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test func aScriptWaitsForTheServer() async throws {
        let early = try await Program.run(
            ["emulator", "wait", "--url", "http://127.0.0.1:1", "--within", "0.2"],
            home: self.home.url
        )
        #expect(early.exitCode == 10, "\(early.errors)")
        let beside = try await Program.run(
            [
                "emulator", "exec", "--tls", "--", "sh", "-c",
                "'\(try ChildProcess.besideTests("mobile-token"))' emulator wait --ca-file $MOBILE_TOKEN_CA_FILE",
            ],
            home: self.home.url
        )
        #expect(beside.output == "The server is ready.\n", "\(beside.errors)")
    }

    @Test func aCommandBesideATLSServerIsToldWhatToTrust() async throws {
        let script = """
            printf '%s\\n' "$MOBILE_TOKEN_URL" "$MOBILE_TOKEN_CA_FILE" "$MOBILE_TOKEN_PIN"
            openssl x509 -in "$MOBILE_TOKEN_CA_FILE" -noout && exit 7
            """
        let words = ["emulator", "exec", "--tls", "--", "sh", "-c", script]
        let outcome = try await Program.run(words, home: self.home.url)
        #expect(outcome.exitCode == 7, "\(outcome.errors)")
        let lines = outcome.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 3)
        #expect(lines[0].hasPrefix("https://127.0.0.1:"))
        #expect(!FileManager.default.fileExists(atPath: lines[1]))
        #expect(lines[2].hasPrefix("sha256//"))
    }

    @Test func aTakenPortIsSaidPlainly() async throws {
        let emulator = try await Emulator.start()
        let outcome = try await Program.run("emulator", "--port", "\(emulator.port)", home: self.home.url)
        await emulator.stop()
        #expect(outcome.exitCode == 1)
        #expect(outcome.errors.contains("addressInUse"))
    }

    @Test func aCommandRunsBesideItAndItsExitStatusCounts() async throws {
        let script = """
            test -n "$MOBILE_TOKEN_URL" && test -n "$MOBILE_TOKEN_SDK_CONFIGURATION" && test -n "$MOBILE_TOKEN_CLOUD_URL" \
            && test "$MOBILE_TOKEN_CLOUD_USER" = bank && test -n "$MOBILE_TOKEN_CLOUD_PASSWORD" \
            && test -z "$MOBILE_TOKEN_PROXY$MOBILE_TOKEN_POWERAUTH_URL" && exit 7
            """
        let outcome = try await Program.run(
            ["emulator", "exec", "--user", "bank", "--", "sh", "-c", script],
            home: self.home.url,
            environment: ["MOBILE_TOKEN_PROXY": "http://elsewhere", "MOBILE_TOKEN_POWERAUTH_URL": "http://elsewhere"]
        )
        #expect(outcome.exitCode == 7, "\(outcome.errors)")
    }

    /// A test runner is told where its tests make spaces, and with `--per-test` of nothing that they would share.
    @Test(arguments: [true, false]) func testsMakeSpacesOfTheirOwn(isPerTest: Bool) async throws {
        let script = """
            echo "$MOBILE_TOKEN_SPACES_URL $MOBILE_TOKEN_CLOUD_USER"
            env | grep -c -E '^MOBILE_TOKEN_(URL|SDK_CONFIGURATION|CLOUD_URL|APPLICATION_ID)='
            read line
            """
        let words = ["emulator", "exec", "--user", "bank"] + (isPerTest ? ["--per-test"] : [])
        let program = try Program.start(
            words + ["--", "sh", "-c", script],
            home: self.home.url,
            environment: ["MOBILE_TOKEN_URL": "http://elsewhere", "MOBILE_TOKEN_CLOUD_URL": "http://elsewhere"]
        )
        let line = try #require(await program.nextLine()).split(separator: " ").map(String.init)
        #expect(line.last == "bank" && line.count == 2)
        #expect(await program.nextLine() == (isPerTest ? "0" : "4"))
        let transport = try CurlTransport()
        let url = try #require(try await transport.post(line[0], #"{"name":"a"}"#)["url"]?.string)
        #expect(try await transport.send(HTTPRequest(.get, url: url + "/health")).status == 200)
        await transport.shutdown()
        program.write("\n")
        #expect(await program.outcome().exitCode == 0)
    }

    /// Spaces begin with what the options say; that of a failed test is written, and stays to be looked at.
    @Test func aFailedTestLeavesItsSpace() async throws {
        let scenario = self.home.url.appending(path: "scenario.json")
        try Data(#"{"registrations":[{"userId":"alice"}]}"#.utf8).write(to: scenario)
        let reports = self.home.url.appending(path: "reports").path
        let earlier = reports + "/_..-failed"
        try FileManager.default.createDirectory(atPath: earlier, withIntermediateDirectories: true)
        let options = ["--per-test", "--scenario", scenario.path, "--report", reports, "--keep-failed"]
        let script = "echo $MOBILE_TOKEN_SPACES_URL; read line; exit 3"
        let program = try Program.start(
            ["emulator", "exec"] + options + ["--", "sh", "-c", script],
            home: self.home.url
        )
        defer { program.send(signal: SIGTERM) }
        let url = try #require(await program.nextLine())
        let transport = try CurlTransport()
        for name in ["../failed", "passed"] {
            let made = try await transport.post(url, #"{"name":"\#(name)"}"#)
            let (id, space) = (try #require(made["id"]?.string), try #require(made["url"]?.string))
            let activations = try await transport.send(HTTPRequest(.get, url: space + "/_emulator/activations"))
            #expect(try JSONValue(parsing: activations.body)["total"] == 1)
            if name != "passed" { _ = try await transport.post("\(url)/\(id)/failure", #"{"reason":"no\nway"}"#) }
            #expect(try await transport.send(HTTPRequest(.delete, url: url + "/" + id)).status == 200)
        }
        let folder = self.home.url.appending(path: "reports/_..-failed")
        for file in ["summary.json", "state.json", "journal.json"] {
            let path = folder.appending(path: file).path
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: reports) == ["_..-failed"])
        program.write("\n")
        let list = try await transport.send(HTTPRequest(.get, url: url))
        #expect(try JSONValue(parsing: list.body)["items"]?.array?.map { $0["failure"] } == ["no\nway"])
        await transport.shutdown()
        var notes: [String] = []
        while let line = await program.nextErrorLine() {
            notes.append(line)
            if line.hasPrefix("The server stays") { break }
        }
        #expect(
            notes.contains { $0.hasPrefix("Failed: ../failed  \(url.dropLast(17))/spaces/") && $0.hasSuffix("  no") }
        )
        #expect(notes.contains("'\(earlier)' of an earlier run is replaced"))
        program.send(signal: SIGTERM)
        #expect(await program.outcome().exitCode == 3)
    }

    @Test(arguments: [
        (["--state", "x"], "--state and --from need --per-test"),
        (["--per-test", "--from", "server", "--state", "x"], "exclude each other"),
        (["--per-test", "--from", "x"], "--from takes 'server'"), (["--per-test", "--state", "/nowhere"], "/nowhere"),
    ])
    func optionsThatDoNotGoTogetherAreRefused(options: [String], message: String) async throws {
        let words = ["emulator", "exec"] + options + ["--", "true"]
        let outcome = try await Program.run(words, home: self.home.url)
        #expect(outcome.exitCode != 0 && outcome.errors.contains(message), "\(outcome.errors)")
    }

    @Test func spacesBeginWithAStateOrWithWhatTheServerHas() async throws {
        let file = self.home.url.appending(path: "state.json")
        let emulator = try await Emulator.start()
        try await emulator.cloud.register(userID: "alice")
        try await emulator.export(toFile: file.path)
        await emulator.stop()
        for options in [["--state", file.path], ["--seed", file.path, "--from", "server"]] {
            let script = "echo $MOBILE_TOKEN_SPACES_URL; read line"
            let words = ["emulator", "exec", "--per-test"] + options + ["--", "sh", "-c", script]
            let program = try Program.start(words, home: self.home.url)
            let url = try #require(await program.nextLine())
            let transport = try CurlTransport()
            let space = try #require(try await transport.post(url)["url"]?.string)
            let activations = try await transport.send(HTTPRequest(.get, url: space + "/_emulator/activations"))
            #expect(try JSONValue(parsing: activations.body)["total"] == 1)
            await transport.shutdown()
            program.write("\n")
            #expect(await program.outcome().exitCode == 0)
        }
    }

    /// A thousand spaces cost megabytes, and give them back.
    @Test func aThousandSpacesCostMegabytes() async throws {
        let script = "echo $PPID $MOBILE_TOKEN_SPACES_URL; read line"
        let program = try Program.start(["emulator", "exec", "--", "sh", "-c", script], home: self.home.url)
        let line = try #require(await program.nextLine()).split(separator: " ").map(String.init)
        try #require(line.count == 2)
        let (process, url) = (line[0], line[1])
        let transport = try CurlTransport()
        defer { program.send(signal: SIGTERM) }
        let before = try self.residentMegabytes(of: process)
        for _ in 0..<1000 {
            let space = try #require(try await transport.post(url)["url"]?.string)
            _ = try await transport.post(space + "/_emulator/cloud/registrations", #"{"userId":"alice"}"#)
        }
        _ = try await transport.post(url, expecting: 507)
        let after = try self.residentMegabytes(of: process)
        print("a thousand spaces: \(after - before) MB")
        #expect(after - before <= 70)
        #expect(try await transport.send(HTTPRequest(.delete, url: url)).status == 200)
        await transport.shutdown()
    }

    private func residentMegabytes(of process: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) }) / 1024
    }

    @Test func theStateIsExportedAtTheEndAndCanBeTheNextStart() async throws {
        let file = self.home.url.appending(path: "state.json")
        let first = try await Program.run(
            [
                "emulator", "exec", "--export-on-exit", file.path, "--", "sh", "-c",
                "echo $MOBILE_TOKEN_SDK_CONFIGURATION",
            ],
            home: self.home.url
        )
        #expect(first.exitCode == 0, "\(first.errors)")
        let second = try await Program.run(
            ["emulator", "exec", "--seed", file.path, "--", "sh", "-c", "echo $MOBILE_TOKEN_SDK_CONFIGURATION"],
            home: self.home.url
        )
        #expect(second.output == first.output && !second.output.isEmpty)
    }

    /// Longer than a program that does nothing is given.
    @Test func aCommandEndsInItsOwnTimeAndTheStateIsExportedAfterwards() async throws {
        let file = self.home.file("state.json")
        let script = "trap 'kill $!; sleep 1.5; exit 3' TERM; sleep 60 & echo ready; wait"
        let words = ["emulator", "exec", "--export-on-exit", file, "--", "sh", "-c", script]
        let program = try Program.start(words, home: self.home.url)
        #expect(await program.nextLine() == "ready")
        program.send(signal: SIGTERM)
        let outcome = await program.outcome()
        #expect(outcome.exitCode == 3, "\(outcome.errors)")
        #expect(FileManager.default.fileExists(atPath: file))
    }

    /// Ctrl-C on a terminal reaches the command by itself: it is not told a second time, by the same signal or another.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
    func theCommandGetsOneSignalOfATerminal() async throws {
        let terminal = """
            from os import execv, read, waitpid, waitstatus_to_exitcode, write
            from pty import fork
            from sys import argv, exit
            process, terminal = fork()
            if process == 0: execv(argv[1], argv[1:])
            output = b""
            while b"ready" not in output: output += read(terminal, 1000)
            write(terminal, b"\\x03")
            try:
                while chunk := read(terminal, 1000): output += chunk
            except OSError: pass
            print(output.decode())
            exit(waitstatus_to_exitcode(waitpid(process, 0)[1]))
            """
        // Longer than a program that does nothing is given.
        let script = "trap 'echo interrupted' INT; trap 'echo ended' TERM; echo ready; sleep 60; sleep 1.5; exit 7"
        let program = try ChildProcess.besideTests("mobile-token-emulator")
        let outcome = try await ChildProcess(
            "/usr/bin/python3",
            ["-c", terminal, program, "exec", "--", "sh", "-c", script],
            environment: ["HOME": self.home.path, "MOBILE_TOKEN_HOME": self.home.path, "PATH": "/usr/bin:/bin"]
        ).outcome()
        #expect(outcome.exitCode == 7, "\(outcome.output) \(outcome.errors)")
        #expect(outcome.output.split(separator: "interrupted").count == 2 && !outcome.output.contains("ended"))
    }

    @Test func whatItWritesIsItsOwnersAloneWhateverTheUmask() async throws {
        let (data, export) = (self.home.file("state"), self.home.file("export.json"))
        let script =
            "umask 000; exec \"$0\" emulator exec --data \"$1\" --export-on-exit \"$2\" -- ls -l \"$1\" \"$1-wal\""
        let outcome = try await ChildProcess(
            "/bin/sh",
            ["-c", script, ChildProcess.besideTests("mobile-token"), data, export],
            environment: ["HOME": self.home.path, "MOBILE_TOKEN_HOME": self.home.path, "PATH": "/usr/bin:/bin"]
        ).outcome()
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("-rw------- ") }, "\(outcome.output)")
        for file in [data, export] {
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(file)")
        }
    }
}

extension CurlTransport {
    /// Sends a document to the server that a program runs, and returns the answer's.
    fileprivate func post(_ url: String, _ body: String = "{}", expecting status: Int = 200) async throws -> JSONValue {
        let headers: HTTPHeaders = ["Content-Type": "application/json"]
        let response = try await self.send(HTTPRequest(.post, url: url, headers: headers, body: Array(body.utf8)))
        try #require(response.status == status)
        return try JSONValue(parsing: response.body)
    }
}
