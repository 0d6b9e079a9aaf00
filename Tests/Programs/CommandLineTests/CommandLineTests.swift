import ExactJSON
import TestSupport
import Foundation
import HTTPClientTransport
import MobileTokenEmulator
import Testing

/// The program as its users run it, against a development server over real sockets.
@Suite(.timeLimit(.minutes(5))) struct CommandLineTests {
    @Test func theDemonstrationSucceeds() async throws {
        let home = try TemporaryFolder()
        let outcome = try await Program.run("demo", "--fast", home: home.url)
        #expect(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.output.hasSuffix("Everything happened as it should.\n"))
    }

    @Test func operationsAreListedApprovedRejectedAndRemembered() async throws {
        try await withActivatedProgram { emulator, home, activationID in
            let payment = try await emulator.cloud.createOperation("payment", userID: "alice")
            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            let free = try await emulator.cloud.createOperation("login", userID: nil)

            let list = try await Program.run("list", "--json", home: home.url)
            let listed = try #require(try JSONValue(parsing: list.output).array)
            #expect(Set(listed.compactMap { $0["id"]?.string }) == [payment.id, login.id])

            let approve = try await Program.runWithPassword("approve", payment.id, home: home.url)
            #expect(approve.exitCode == 0, "\(approve.errors)")
            #expect(try await emulator.cloud.operation(payment.id).status == .approved)

            let reject = try await Program.run("reject", login.id, "--reason", "POSSIBLE_FRAUD", home: home.url)
            #expect(reject.exitCode == 0, "\(reject.errors)")
            #expect(try await emulator.cloud.operation(login.id).rejectReason == "POSSIBLE_FRAUD")

            let claim = try await Program.run("claim", free.id, home: home.url)
            #expect(claim.exitCode == 0, "\(claim.errors)")
            #expect(try await emulator.cloud.operation(free.id).userID == "alice")

            let history = try await Program.runWithPassword("history", "--json", home: home.url)
            let statuses = try #require(try JSONValue(parsing: history.output).array).compactMap {
                $0["status"]?.string
            }
            #expect(statuses.contains("APPROVED") && statuses.contains("REJECTED"))

            let status = try await Program.run("status", "--json", home: home.url)
            let document = try JSONValue(parsing: status.output)
            #expect(document["activationId"]?.string == activationID)
            #expect(document["state"]?.string == "active")
            #expect(document["counter"]?.string == "inSync")

            let remove = try await Program.run("remove", "--password-stdin", home: home.url, input: "1234\n")
            #expect(remove.exitCode == 0, "\(remove.errors)")
            #expect(try await Program.run("status", home: home.url).exitCode == 4)
        }
    }

    /// Creates an operation with whatever the JSON says.
    private func create(_ body: String, at emulator: Emulator) async throws -> HTTPResponse {
        let credentials = Data("\(emulator.cloudUser):\(emulator.cloudPassword)".utf8).base64EncodedString()
        let headers: HTTPHeaders = ["Authorization": "Basic \(credentials)", "Content-Type": "application/json"]
        let transport = try CurlTransport()
        let url = emulator.cloudURL + "/v2/operations"
        let response = try await transport.send(HTTPRequest(url: url, headers: headers, body: Array(body.utf8)))
        await transport.shutdown()
        return response
    }

    @Test func whatCannotBeReadIsNamedBesideTheList() async throws {
        try await withActivatedProgram { emulator, home in
            let body = """
                {"userId":"alice","operationType":"transfer","data":"A1","formData":{"title":"T","message":"M",
                "attributes":[{"type":"AMOUNT","id":"a","label":"Amount","currency":"EUR"}]}}
                """
            let created = try await self.create(body, at: emulator)
            #expect(created.status == 200)
            let list = try await Program.run("list", "--json", home: home.url)
            #expect(try JSONValue(parsing: list.output).array?.count == 1)
            let complaint = "not read: responseObject[0].formData.attributes[0]"
            #expect(list.errors.contains(complaint), "\(list.errors)")

            let watch = try Program.start(["watch"], home: home.url)
            #expect(await watch.nextErrorLine()?.contains(complaint) == true)
            watch.send(signal: SIGTERM)
            #expect(await watch.outcome().exitCode == 130)
        }
    }

    /// A string of the server's may neither steer the terminal nor pass for another line of the output.
    @Test func theServersStringsAreShownEscaped() async throws {
        try await withActivatedProgram { emulator, home in
            let title = #"\u001b[2J\u001b]0;x\u0007\u202egnp.\u200b\u0085\r\n+ forged  line"#
            let body =
                #"{"userId":"alice","operationType":"\#(title)","data":"A1*T\#(title)","#
                + #""formData":{"title":"\#(title)","message":"\#(title)","#
                + #""attributes":[{"type":"NOTE","id":"\#(title)","label":"\#(title)","note":"\#(title)"}]}}"#
            let created = try await self.create(body, at: emulator)
            let id = try #require(try JSONValue(parsing: created.body)["operationId"]?.string)
            let watch = try Program.start(["watch"], home: home.url)
            let change = try #require(await watch.nextLine())
            watch.send(signal: SIGTERM)
            _ = await watch.outcome()
            var outputs = [change]
            for command in [
                ["list"], ["show", id], ["list", "--json"], ["show", id, "--json"], ["show", "no\u{1B}[2J"],
            ] {
                let outcome = try await Program.run(command, home: home.url)
                outputs += [outcome.output, outcome.errors]
            }
            for output in outputs {
                let unsafe = output.unicodeScalars.filter { scalar in
                    [.control, .format].contains(scalar.properties.generalCategory) && scalar != "\n"
                }
                #expect(unsafe.isEmpty, "\(output.debugDescription)")
                #expect(!output.contains("\n+ forged"))
            }
            let shown = try await Program.run("show", id, "--json", home: home.url)
            #expect(
                try JSONValue(parsing: shown.output)["title"]?.string
                    == "\u{1B}[2J\u{1B}]0;x\u{7}\u{202E}gnp.\u{200B}\u{85}\r\n+ forged  line"
            )
        }
    }

    @Test func theVersionSaysWhichSuitesThisMachineHas() async throws {
        let home = try TemporaryFolder()
        let outcome = try await Program.run("--version", home: home.url)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(outcome.output.hasPrefix("mobile-token 1."))
        #expect(outcome.output.contains("OpenSSL 3."))
        for suite in ["EC_P384: available", "EC_P384_ML_L3: ", "EC_P384_ML_L5: "] {
            #expect(outcome.output.contains(suite), "\(outcome.output)")
        }
    }

    @Test(arguments: [["--protocol", "5.0"], ["--protocol", "4.0", "--suite", "EC_P521"]])
    func aVersionOrSuiteThatDoesNotExistIsWrongUsage(options: [String]) async throws {
        let home = try TemporaryFolder()
        let outcome = try await Program.run(["activate", "CODE"] + options, home: home.url)
        #expect(outcome.exitCode == 2, "\(outcome.errors)")
        #expect(outcome.errors.contains("takes one of"), "\(outcome.errors)")
    }

    @Test(arguments: ["3.1", "3.2", "3.3"]) func anActivationSpeaksTheVersionItWasMadeWith(version: String) async throws
    {
        try await withProgramAndServer { emulator, home in
            _ = try await Program.activate(at: emulator, version: version, home: home.url)
            let operation = try await emulator.cloud.createOperation("payment", userID: "alice")
            let approve = try await Program.runWithPassword("approve", operation.id, home: home.url)
            #expect(approve.exitCode == 0, "\(approve.errors)")
            for name in ["x-powerauth-authorization", "x-powerauth-token", "x-powerauth-encryption"] {
                let headers = await emulator.journal().flatMap(\.headers).filter { $0.name.lowercased() == name }
                #expect(!headers.isEmpty)
                #expect(headers.allSatisfy { $0.value.contains(#"version="\#(version)""#) }, "\(name)")
            }
        }
    }

    @Test(arguments: [(19, 0, "movedForward(19)"), (20, 1, "rolledBack")])
    func aCounterBeyondRepairIsAnExitCode(steps: Int, exitCode: Int32, result: String) async throws {
        try await withActivatedProgram { emulator, home, id in
            try await emulator.advanceCounter(ofActivation: id, by: UInt64(steps))
            let counter = try await Program.run("counter", "--json", home: home.url)
            #expect(counter.exitCode == exitCode, "\(counter.errors)")
            #expect(try JSONValue(parsing: counter.output)["result"]?.string == result)
            let history = try await Program.run("history", "--password-stdin", home: home.url, input: "1234\n")
            #expect(history.exitCode == exitCode, "\(history.errors)")
        }
    }

    @Test(arguments: [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")])
    func outputThatCannotBeWrittenIsAFailure(redirection: String, reason: String) async throws {
        let program = try ChildProcess.besideTests("mobile-token")
        let outcome = try await ChildProcess.run("sh", ["-c", "'\(program)' --help \(redirection)"])
        #expect(outcome.exitCode == 5)
        #expect(outcome.errors == "mobile-token: cannot write the output: \(reason)\n")
    }

    /// A script that took it for a failure would decide again.
    @Test func aDecisionCountsThoughTheOutputCannotBeWritten() async throws {
        try await withActivatedProgram { emulator, home in
            let program = try ChildProcess.besideTests("mobile-token")
            for (words, status) in [("approve", "APPROVED"), ("reject", "REJECTED")] {
                let login = try await emulator.cloud.createOperation("login", userID: "alice")
                let outcome = try await ChildProcess.run(
                    "sh",
                    [
                        "-c",
                        "echo 1234 | '\(program)' \(words) \(login.id) --home '\(home.path)' \(words == "approve" ? "--password-stdin" : "") >/dev/full",
                    ]
                )
                #expect(outcome.exitCode == 0)
                #expect(outcome.errors.contains("cannot write the output: No space left on device"))
                #expect(try await emulator.cloud.operation(login.id).status.rawValue == status)
            }
        }
    }

    @Test func aProfileThatCannotBeReadIsAWrongSetting() async throws {
        try await withActivatedProgram { emulator, home in
            try Data("{".utf8).write(to: home.url.appending(path: "default/profile.json"))
            let status = try await Program.run("status", home: home.url)
            #expect(status.exitCode == 78)
            #expect(status.errors.contains(home.file("default/profile.json")))
        }
    }

    @Test func aDamagedStoreIsTroubleOnThisMachine() async throws {
        try await withActivatedProgram { emulator, home in
            let store = home.url.appending(path: "default/activations.sqlite")
            // A program that ends in a hurry leaves the log, which would be read in place of what is damaged.
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.path + suffix) }
            try Data(repeating: 0x5A, count: 8192).write(to: store)
            let counter = try await Program.run("counter", home: home.url)
            #expect(counter.exitCode == 5)
            #expect(counter.errors.contains("storeCorrupted"), "\(counter.errors)")
        }
    }

    /// The server has used up the code by then, and would be left with an activation that nobody has.
    @Test(arguments: [SIGTERM, SIGINT]) func anActivationUnderWayIsFinishedBeforeTheProgramEnds(signal: Int32)
        async throws
    {
        try await withProgramAndServer { emulator, home in
            let registration = try await emulator.cloud.register(userID: "alice")
            // The answer takes longer than the program gives to commands that do not end.
            let rule = FaultRule(match: .init(path: "/**/activation/create"), effect: .init(drip: 600))
            await emulator.faults.add(rule)
            let words = [
                "activate", registration.activationCode, "--url", emulator.baseURL, "--sdk-configuration",
                emulator.sdkConfiguration, "--password-stdin",
            ]
            let program = try Program.start(words, home: home.url)
            program.write("1234\n")
            await until { await emulator.activations().first?.status == .pendingCommit }
            program.send(signal: signal)
            let outcome = await program.outcome()
            #expect(outcome.exitCode == 130)
            #expect(outcome.errors.contains(registration.id), "\(outcome.errors)")
            try await emulator.cloud.commitRegistration(registration.id)
            let status = try await Program.run("status", "--json", home: home.url)
            #expect(status.exitCode == 0, "\(status.errors)")
            #expect(try JSONValue(parsing: status.output)["activationId"]?.string == registration.id)
        }
    }

    /// Killed after the server has used up the code, and before the profile says whose activation it is.
    @Test func anActivationOfAKilledProgramIsTakenUp() async throws {
        try await withProgramAndServer { emulator, home in
            let profile = home.url.appending(path: "default/profile.json")
            let registration = try await emulator.cloud.register(userID: "bob")
            // The answer comes too late.
            await emulator.faults.add(FaultRule(match: .init(path: "/**/activation/create"), effect: .init(drip: 600)))
            let words = [
                "activate", registration.activationCode, "--url", emulator.baseURL, "--sdk-configuration",
                emulator.sdkConfiguration, "--password-stdin",
            ]
            let killed = try Program.start(words, home: home.url)
            killed.write("1234\n")
            await until { await emulator.activations().first?.status == .pendingCommit }
            killed.send(signal: SIGKILL)
            _ = await killed.outcome()
            let left = try Data(contentsOf: profile)
            await emulator.faults.removeAll()
            #expect(try await Program.run("status", home: home.url).exitCode == 4)

            let id = try await Program.activate(at: emulator, home: home.url)
            // As if that one had been killed just before it wrote the profile.
            try left.write(to: profile)
            let refused = try await Program.run(words, home: home.url, input: "1234\n")
            #expect(refused.exitCode == 2)
            #expect(refused.errors.contains("took up activation \(id)"), "\(refused.errors)")
            let status = try await Program.run("status", "--json", home: home.url)
            #expect(try JSONValue(parsing: status.output)["activationId"]?.string == id)
            #expect(status.errors.isEmpty)
        }
    }

    @Test func anActivationThatFailsLeavesTheProfileAsItWas() async throws {
        try await withProgramAndServer { emulator, home in
            func activate(_ words: String...) async throws -> Int32? {
                let common = ["activate", "--sdk-configuration", emulator.sdkConfiguration, "--password-stdin"]
                return try await Program.run(common + words, home: home.url, input: "1234\n").exitCode
            }
            let registration = try await emulator.cloud.register(userID: "bob")
            #expect(try await activate(registration.activationCode, "--url", "http://127.0.0.1:1") == 3)
            #expect(try await Program.run("profile", "list", home: home.url).output == "No profiles.\n")
            _ = try await Program.activate(at: emulator, home: home.url)
            let profile = home.url.appending(path: "default/profile.json")
            let before = try Data(contentsOf: profile)
            #expect(try await activate(registration.activationCode, "--url", "http://127.0.0.1:1", "--replace") == 3)
            #expect(try Data(contentsOf: profile) == before)
        }
    }

    @Test func anUnusableStoreDoesNotCostTheCode() async throws {
        try await withProgramAndServer { emulator, home in
            let registration = try await emulator.cloud.register(userID: "alice")
            let folder = home.url.appending(path: "default").path
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for (mode, exitCode) in [(0o755, 5), (0o700, 0)] as [(Int, Int32)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder)
                let outcome = try await Program.runWithPassword(
                    [
                        "activate", registration.activationCode, "--url", emulator.baseURL, "--sdk-configuration",
                        emulator.sdkConfiguration,
                    ],
                    home: home.url
                )
                #expect(outcome.exitCode == exitCode, "\(outcome.errors)")
            }
        }
    }

    @Test func aPinIsNotIgnoredOverPlainHTTP() async throws {
        try await withActivatedProgram { emulator, home in
            let pin = "sha256//" + String(repeating: "A", count: 43) + "="
            for words in [["--pin", pin], ["--ca-file", "/dev/null"]] {
                let outcome = try await Program.run(["list"] + words, home: home.url)
                #expect(outcome.exitCode == 2)
                #expect(outcome.errors.contains("means nothing over http"), "\(outcome.errors)")
            }
            #expect(try await Program.run("list", home: home.url).exitCode == 0)
        }
    }

    /// The address of no machine in particular leads to this one, but is not written as one that does.
    @Test func plainHTTPToAnotherMachineNeedsAnOptionWhichTheProfileKeeps() async throws {
        try await withProgramAndServer { emulator, home in
            let registration = try await emulator.cloud.register(userID: "alice")
            let words = [
                "activate", registration.activationCode, "--url",
                emulator.baseURL.replacing("127.0.0.1", with: "0.0.0.0"), "--sdk-configuration",
                emulator.sdkConfiguration, "--password-stdin",
            ]
            for (option, exitCode) in [([], 2), (["--insecure-http"], 0)] as [([String], Int32)] {
                let outcome = try await Program.run(words + option, home: home.url, input: "1234\n")
                #expect(outcome.exitCode == exitCode, "\(outcome.errors)")
            }
            try await emulator.cloud.commitRegistration(registration.id)
            let status = try await Program.run("status", home: home.url)
            #expect(status.exitCode == 0, "\(status.errors)")
        }
    }

    @Test func profilesAreKeptBelowTheHomeOfTheEnvironment() async throws {
        let home = try TemporaryFolder()
        _ = try await Program.run(
            ["status", "--url", "http://127.0.0.1:1", "--sdk-configuration", "x"],
            home: home.url,
            environment: ["MOBILE_TOKEN_HOME": ""]
        )
        let folder = home.url.appending(path: ".local/share/mobile-token/default").path
        #expect(FileManager.default.fileExists(atPath: folder))
    }

    @Test func changesArriveLineByLine() async throws {
        try await withActivatedProgram { emulator, home in
            let operation = try await emulator.cloud.createOperation("payment", userID: "alice")
            let watch = try Program.start(["watch", "--json"], home: home.url)
            let line = try #require(await watch.nextLine())
            #expect(try JSONValue(parsing: line)["added"]?.array == [.string(operation.id)])
            watch.send(signal: SIGINT)
            #expect(await watch.outcome().exitCode == 130)
        }
    }

    @Test func anOfflineCodeIsComputedFromItsQRCode() async throws {
        try await withActivatedProgram { emulator, home, activationID in
            let operation = try await emulator.cloud.createOperation("payment", userID: "alice")
            let qr = try await emulator.cloud.offlineCode(operation: operation.id, registration: activationID)
            let file = home.url.appending(path: "qr.txt")
            try Data(qr.content.utf8).write(to: file)

            let outcome = try await Program.runWithPassword("offline", "--file", file.path, home: home.url)
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            let code = outcome.output.trimmingCharacters(in: .newlines)
            let verdict = try await emulator.cloud.verify(
                offlineCode: code,
                nonce: qr.nonce,
                operation: operation.id,
                registration: activationID
            )
            #expect(verdict.isValid)

            let short = try await Program.runWithPassword(
                ["offline", "--file", file.path, "--digits", "4"],
                home: home.url
            )
            #expect(short.output.wholeMatch(of: /[0-9]{4}-[0-9]{4}\n/) != nil, "\(short.errors)")
            let tooShort = try await Program.run("offline", "--file", file.path, "--digits", "3", home: home.url)
            #expect(tooShort.exitCode == 2)

            try Data(qr.content.replacing("A1*", with: "A2*").utf8).write(to: file)
            let tampered = try await Program.run("offline", "--file", file.path, "--password-stdin", home: home.url)
            #expect(tampered.exitCode != 0)
            #expect(tampered.output.isEmpty)
        }
    }

    @Test func theDeviceIsRenamed() async throws {
        try await withActivatedProgram { emulator, home in
            let renamed = try await Program.run("rename", "Bot 2", "--password-stdin", home: home.url, input: "1234\n")
            #expect(renamed.exitCode == 0, "\(renamed.errors)")
            let name = try await Program.run("name", "--password-stdin", home: home.url, input: "1234\n")
            #expect(name.output == "Bot 2\n", "\(name.errors)")
        }
    }

    @Test func messagesAreShownAndMarked() async throws {
        try await withActivatedProgram { emulator, home in
            let id = try await emulator.cloud.createMessage(
                .init(userID: "alice", subject: "Hello", summary: "s", body: "World")
            ).id
            let list = try await Program.run("inbox", "list", "--json", home: home.url)
            let messages = try #require(try JSONValue(parsing: list.output).array)
            #expect(messages.map { $0["read"]?.bool } == [false])
            #expect(try await Program.run("inbox", "show", id, home: home.url).output == "Hello\n\nWorld\n")
            #expect(try await Program.run("inbox", "read", id, home: home.url).exitCode == 0)
            #expect(try await Program.run("inbox", "list", "--unread", home: home.url).output == "No messages.\n")
            #expect(try await Program.run("push", "register", "token", home: home.url).exitCode == 0)
        }
    }

    @Test func theExitCodeTellsWhatFailed() async throws {
        try await withProgramAndServer { emulator, home in
            #expect(try await Program.run("list", home: home.url).exitCode == 2, "no profile yet")
            _ = try await Program.activate(at: emulator, home: home.url)
            let operation = try await emulator.cloud.createOperation("payment", userID: "alice")

            let wrong = try await Program.run(
                ["approve", operation.id, "--password-stdin"],
                home: home.url,
                input: "4321\n"
            )
            #expect(wrong.exitCode == 7)
            #expect(wrong.errors.contains("4 attempts left"))
            #expect(!wrong.errors.contains("4321"))
            #expect(try await Program.run("show", UUID().uuidString, home: home.url).exitCode == 4)
            await emulator.stop()
            #expect(try await Program.run("list", home: home.url).exitCode == 3)
        }
    }

    @Test func thePasswordChangesOnlyForWhoKnowsIt() async throws {
        try await withActivatedProgram { emulator, home in
            let refused = try await Program.run(
                ["password", "change", "--password-stdin"],
                home: home.url,
                input: "9999\n5678\n"
            )
            #expect(refused.exitCode == 7)
            let changed = try await Program.run(
                ["password", "change", "--password-stdin"],
                home: home.url,
                input: "1234\n5678\n"
            )
            #expect(changed.exitCode == 0, "\(changed.errors)")
            let old = try await Program.run("history", "--password-stdin", home: home.url, input: "1234\n")
            #expect(old.exitCode == 7)
            let new = try await Program.run("history", "--password-stdin", home: home.url, input: "5678\n")
            #expect(new.exitCode == 0, "\(new.errors)")
        }
    }

    @Test(arguments: [
        (["lsit"], "did you mean 'list'?"),
        (["inbox", "raed"], "did you mean 'inbox read'?"),
        (["list", "--jsno"], "did you mean --json?"),
        (["approve"], "ID is missing"),
        (["approve", "1", "2"], "'2' is one word too many"),
        (["list", "--timeout"], "--timeout needs a value"),
        (["list", "--timeout", "soon"], "--timeout takes seconds"),
        (["approve", "1", "--password", "1234"], "unknown option --password"),
        (["rename"], "NAME is missing"),
        (["transfer", "--otp", "1"], "--application and --otp are needed"),
        (["activate", "CODE", "--protocol", "2.1"], "--protocol takes one of: 3.1, 3.2, 3.3"),
        (["activate", "CODE", "--url", "http://127.0.0.1:1", "--sdk-configuration", "x"], "--sdk-configuration: "),
    ])
    func mistakesAreExplained(_ words: [String], _ explanation: String) async throws {
        let home = try TemporaryFolder()
        let server = ["--url", "http://127.0.0.1:1", "--sdk-configuration", "x"]
        let words = words.first == "list" ? ["list"] + server + words.dropFirst() : words
        let outcome = try await Program.run(words, home: home.url)
        #expect(outcome.exitCode == 2)
        #expect(outcome.errors.contains(explanation), "\(outcome.errors)")
    }

    @Test func everyCommandHasHelp() async throws {
        let home = try TemporaryFolder()
        let page = try await Program.run("--help", home: home.url)
        #expect(page.exitCode == 0)
        let commands = page.output.split(separator: "\n").drop { $0 != "Commands:" }.dropFirst()
            .prefix { $0.hasPrefix("  ") }
            .map {
                $0.split(separator: "  ", omittingEmptySubsequences: true)[0].split(separator: " ").map(String.init)
            }
        #expect(commands.count >= 18)
        for command in commands {
            let help = try await Program.run(command + ["--help"], home: home.url)
            #expect(help.exitCode == 0)
            #expect(help.output.hasPrefix("Usage: mobile-token \(command.joined(separator: " "))"))
        }
    }
}
