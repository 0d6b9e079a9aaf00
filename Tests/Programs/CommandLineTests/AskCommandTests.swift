import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

/// `mobile-token ask` over a server on a socket, whose virtual devices decide.
@Suite(.timeLimit(.minutes(5))) struct AskCommandTests {
    // MARK: Decisions

    @Test func anApprovedCommandRunsOnceWithItsOwnStatus() async throws {
        try await AskStage.withApprover { stage in
            try stage.write("manifest", "replicas: 2\n")
            let words = ["--bind", "manifest=file:\(stage.file("manifest"))"]
            let command = ["sh", "-c", "cat {manifest}; env; exit 7"]
            let first = try await stage.ask(words, command)
            #expect(first.exitCode == 7)
            #expect(first.output.hasPrefix("replicas: 2\n"))
            // The credentials stay here.
            #expect(!first.output.contains(stage.emulator.cloudPassword))
            #expect(!first.output.contains("MOBILE_TOKEN_CLOUD_USER"))
            #expect(first.output.contains("MOBILE_TOKEN_CLOUD_URL"))
            let lines = first.errors.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(
                lines.first?.contains(/^mobile-token: asked alice \(\w{4}-\w{4}\) for 'deploy', until .*; id q1$/)
                    == true
            )
            #expect(lines.last == "mobile-token: approved by alice; the command ended with 7")
            let report = try stage.report()
            #expect(report["ran"]?.bool == true && report["exitStatus"]?.int64 == 7 && report["exitCode"]?.int64 == 7)
            #expect(report["outcome"]?.string == "threw" && report["performance"]?.string == "threw")
            let approval = try #require(report["approvals"]?.array?.first)
            #expect(approval["userId"]?.string == "alice" && approval["evidence"]?.string == "answer")

            let again = try await stage.ask(words, command)
            #expect(again.exitCode == 84 && again.output.isEmpty)
            #expect(try stage.report()["ran"]?.bool == false && stage.report()["performance"]?.string == "threw")
            try stage.write("manifest", "replicas: 3\n")
            let other = try await stage.ask(words, command)
            #expect(other.exitCode == 85 && other.output.isEmpty)
            #expect(try stage.report()["ran"]?.bool == false && stage.report()["exitCode"]?.int64 == 85)
            #expect(await stage.emulator.operations().count == 1)
        }
    }

    @Test func aRejectionRunsNothing() async throws {
        try await AskStage.with { stage in
            try await stage.emulator.makeDevice(userID: "alice", rule: .init(.reject, reason: "UNEXPECTED_OPERATION"))
            let outcome = try await stage.ask([], ["touch", stage.file("done")])
            #expect(outcome.exitCode == 80, "\(outcome.errors)")
            #expect(outcome.errors.contains("alice rejected it"))
            #expect(outcome.errors.contains("UNEXPECTED_OPERATION"))
            #expect(!stage.exists("done"))
            let report = try stage.report()
            #expect(report["ran"]?.bool == false && report["outcome"]?.string == "rejected")
            #expect(report["exitCode"]?.int64 == 80 && report["exitStatus"]?.isNull == true)
        }
    }

    /// Row `allowedSignatureType p_pk`: one factor, and no variants.
    @Test func oneFactorIsEnoughWhereTheTemplateSaysSo() async throws {
        try await AskStage.with { stage in
            let two = #"{"type":"2FA","variants":["possession_knowledge"]}"#
            let template = AskStage.template(signing: AskStage.form)
            try #require(template.contains(two))
            try await stage.emulator.addTemplate(template.replacing(two, with: #"{"type":"1FA","variants":[]}"#))
            try await stage.emulator.makeDevice(userID: "alice")
            let outcome = try await stage.ask([], ["true"])
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            #expect(try stage.report()["approvals"]?[0]?["factors"] == "possession")
        }
    }

    @Test func whatNobodyDecidesExpires() async throws {
        try await AskStage.with { stage in
            let asking = try stage.start(["--wait", "20s"], ["touch", stage.file("done")])
            #expect(await asking.nextErrorLine()?.contains("asked alice") == true)
            await stage.emulator.clock.advance(by: .seconds(30))
            let outcome = await asking.outcome()
            #expect(outcome.exitCode == 81, "\(outcome.errors)")
            #expect(!stage.exists("done"))
            #expect(try stage.report()["ran"]?.bool == false && stage.report()["outcome"]?.string == "expired")
        }
    }

    @Test func withoutADeviceThatMayDecideNobodyIsAsked() async throws {
        try await AskStage.with { stage in
            let bob = try await stage.emulator.makeDevice(userID: "bob")
            let outcome = try await stage.ask(["--device", bob.id], ["touch", stage.file("done")])
            #expect(outcome.exitCode == 83, "\(outcome.errors)")
            #expect(try stage.report()["ran"]?.bool == false && stage.report()["outcome"]?.string == "noDevice")
            #expect(await stage.emulator.operations().isEmpty && !stage.exists("done"))
        }
    }

    @Test func anOperationThatIsCanceledAtTheServerRunsNothing() async throws {
        try await AskStage.with { stage in
            let asking = try stage.start([], ["touch", stage.file("done")])
            _ = await asking.nextErrorLine()
            let id = try #require(await stage.emulator.operations().first?.id)
            try await stage.emulator.cloud.cancelOperation(id)
            let outcome = await asking.outcome()
            #expect(outcome.exitCode == 82, "\(outcome.errors)")
            #expect(try stage.report()["ran"]?.bool == false && !stage.exists("done"))
        }
    }

    @Test func twoOfThreeApprove() async throws {
        try await AskStage.with { stage in
            for user in ["bob", "carol"] { try await stage.emulator.makeDevice(userID: user) }
            try await stage.emulator.makeDevice(userID: "dave", rule: .init(.never))
            let words = ["--any", "2", "--of", "alice,bob", "--of", "carol,dave", "--exclude", "alice"]
            let outcome = try await stage.ask(words, ["true"], user: nil)
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            #expect(outcome.errors.contains("approved by bob, carol; the command ended with 0"))
            #expect(outcome.errors.contains(/asked bob \(\w{4}-\w{4}\), carol \(\w{4}-\w{4}\), dave \(/))
            #expect(outcome.errors.contains("), of whom 2 must approve, for 'deploy'"), "\(outcome.errors)")
            let users = try #require(try stage.report()["approvals"]?.array).map { $0["userId"]?.string }
            #expect(users == ["bob", "carol"])
            #expect(await !stage.emulator.operations().contains { $0.status == .pending || $0.userID == "alice" })
        }
    }

    /// A variable that is not set keeps nobody out.
    @Test(arguments: [["--exclude", ""], ["--exclude", "alice,"], ["--of", ""]]) func anEmptyNameIsRefused(
        words: [String]
    ) async throws {
        try await AskStage.with { stage in
            let outcome = try await stage.ask(["--any", "1", "--of", "alice,bob"] + words, ["true"], user: nil)
            #expect(outcome.exitCode == 2)
            #expect(outcome.errors.contains("\(words[0]): a name is empty"), "\(outcome.errors)")
            #expect(await stage.emulator.operations().isEmpty)
        }
    }

    @Test func moreThanAreLeftCannotApprove() async throws {
        try await AskStage.with { stage in
            let words = ["--any", "2", "--of", "alice,bob", "--exclude", "alice"]
            let outcome = try await stage.ask(words, ["true"], user: nil)
            #expect(outcome.exitCode == 2)
            #expect(outcome.errors.contains("2 must approve, and 1 can be asked"), "\(outcome.errors)")
        }
    }

    @Test func aRejectionMayBeOutvoted() async throws {
        try await AskStage.with { stage in
            try await stage.emulator.makeDevice(userID: "alice", rule: .init(.reject))
            try await stage.emulator.makeDevice(userID: "bob", rule: .init(.approve))
            let words = ["--any", "1", "--of", "alice,bob", "--in-order", "--until-impossible"]
            let outcome = try await stage.ask(words, ["true"], user: nil)
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            #expect(try stage.report()["approvals"]?.array?.map { $0["userId"]?.string } == ["bob"])
        }
    }

    @Test func withoutACommandTheApprovalIsUsedUpOnce() async throws {
        try await AskStage.withApprover { stage in
            let first = try await stage.ask(["--json", "--bind", "change=stdin:"], nil, input: "42")
            #expect(first.exitCode == 0, "\(first.errors)")
            let document = try JSONValue(parsing: first.output)
            #expect(document["outcome"]?.string == "done" && document["ran"]?.bool == false)
            #expect(document["idempotencyKey"]?.string?.utf8.count == 64)
            let again = try await stage.ask(["--bind", "change=stdin:"], nil, input: "42")
            #expect(again.exitCode == 84 && again.output.isEmpty)
            let other = try await stage.ask(["--json", "--bind", "change=stdin:"], nil, input: "43")
            #expect(other.exitCode == 85 && other.output.isEmpty)
            #expect(try JSONValue(parsing: other.errors)["error"]?["code"]?.string == "alreadyAsked")
        }
    }

    // MARK: Device keys

    /// With a key of the person's device, the server's word is not enough: once by an option, once by the profile.
    @Test(arguments: [true, false], [true, false])
    func onlyWhatTheDeviceHasSignedIsApproved(_ isSigned: Bool, _ isInProfile: Bool) async throws {
        try await AskStage.with { stage in
            _ = try await Program.activate(at: stage.emulator, home: stage.home.url)
            try stage.write("alice.pem", try await Program.run("device-key", home: stage.home.url).output)
            let words = ["--device-key", "alice=\(stage.file("alice.pem"))"]
            if isInProfile {
                #expect(try await stage.run(["configure"] + words).exitCode == 0)
                // Another file later changes nothing: the profile has the key itself.
                try stage.write("alice.pem", "")
            }
            let asking = try stage.start(isInProfile ? [] : words, ["touch", stage.file("done")])
            _ = await asking.nextErrorLine()
            let id = try #require(await stage.emulator.operations().first?.id)
            let decision = ["approve", id, "--password-stdin"] + (isSigned ? ["--device-signature"] : [])
            #expect(try await Program.run(decision, home: stage.home.url, input: "1234\n").exitCode == 0)
            let outcome = await asking.outcome()
            #expect(outcome.exitCode == (isSigned ? 0 : 86), "\(outcome.errors)")
            #expect(stage.exists("done") == isSigned)
            let report = try stage.report()
            #expect(report["ran"]?.bool == isSigned)
            #expect(report["outcome"]?.string == (isSigned ? "done" : "cannotVerify"))
            let evidence = report["approvals"]?.array?.first?["evidence"]?.string
            #expect(evidence == (isSigned ? "deviceSignature" : nil))
        }
    }

    @Test func aDeviceKeyThatCannotBeReadAsksNobody() async throws {
        try await AskStage.with { stage in
            try await stage.emulator.makeDevice(userID: "bob")
            try stage.write("broken.pem", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
            for value in ["bob", "=x", "bob=\(stage.file("broken.pem"))", "bob=\(stage.file("none"))"] {
                let refused = try await stage.ask(["--device-key", value], ["true"], user: "bob")
                #expect(refused.exitCode == 2 && refused.errors.contains("device"), "\(value): \(refused.errors)")
            }
            // The user who is asked needs an activation, if anybody has one.
            _ = try await Program.activate(at: stage.emulator, home: stage.home.url)
            try stage.write("alice.pem", try await Program.run("device-key", home: stage.home.url).output)
            let words = ["--device-key", "alice=\(stage.file("alice.pem"))"]
            let mistaken = try await stage.ask(words, ["true"], user: "bob")
            #expect(mistaken.exitCode == 2 && mistaken.errors.contains("no device key of bob"), "\(mistaken.errors)")
            #expect(await stage.emulator.operations().isEmpty)
        }
    }

    // MARK: What is approved

    @Test func boundValuesReachTheCommandAsTheyWereDigested() async throws {
        try await AskStage.with { stage in
            try stage.write(
                "script",
                "#!/bin/sh\ncat \"$1\"; cat; printf %s \"$(cat \"$2\")\"; echo x >\"$1\" || exit 3\n"
            )
            let words = [
                "--bind", "script=file:\(stage.file("script"))", "--bind", "in=stdin:", "--bind", "token=env:TOKEN",
            ]
            let asking = try stage.start(words, ["sh", "{script}", "{in}", "{token}"], environment: ["TOKEN": "t0ken"])
            asking.write("from standard input\n")
            let end = Task { await asking.outcome() }
            #expect(await asking.nextErrorLine()?.contains("asked alice") == true)
            // The copy is what counts, whatever becomes of the file.
            try stage.write("script", "echo another\n")
            try await stage.decide(.approve)
            let outcome = await end.value
            #expect(outcome.output == "from standard input\nfrom standard input\nt0ken")
            // Nobody can write to it.
            #expect(outcome.exitCode == 3, "\(outcome.errors)")
        }
    }

    /// Number 19.
    @Test func aFileThatIsGoneAfterTheApprovalIsNotUsed() async throws {
        try await AskStage.with { stage in
            let file = stage.file("manifest")
            try stage.write("manifest", "1")
            let asking = try stage.start(["--bind", "manifest=file:\(file)"], ["touch", stage.file("done")])
            _ = await asking.nextErrorLine()
            try FileManager.default.removeItem(atPath: file)
            try await stage.decide(.approve)
            let outcome = await asking.outcome()
            #expect(outcome.exitCode == 86 && outcome.errors.contains("\(file) was changed"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("--help") && !stage.exists("done"))
        }
    }

    /// Number 18: what the command would open is neither the copy nor looked at again.
    @Test(arguments: ["./manifest", "one/../manifest", "link", "hard", "--file=./manifest"])
    func aBoundFileUnderAnotherPathIsRefused(_ word: String) async throws {
        try await AskStage.with { stage in
            let file = stage.file("manifest")
            try stage.write("manifest", "1")
            try FileManager.default.createDirectory(atPath: stage.file("one"), withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(atPath: stage.file("link"), withDestinationPath: file)
            try FileManager.default.linkItem(atPath: file, toPath: stage.file("hard"))
            let bound = ["--bind", "m=file:\(file)"]
            for command in [["cat", word], ["cat", "{m}", word], ["sh", "-c", "cat {m}; cat <\(word)"]] {
                let outcome = await (try stage.start(bound, command, folder: ".")).outcome()
                #expect(outcome.exitCode == 2 && outcome.errors.contains("by another path"), "\(outcome.errors)")
            }
            #expect(await stage.emulator.operations().isEmpty)
        }
    }

    @Test func aFileThatChangesAfterItWasDigestedIsNotUsed() async throws {
        try await AskStage.with { stage in
            let file = stage.file("manifest")
            try stage.write("manifest", "1")
            let words = ["--bind", "manifest=file:\(file)"]
            let asking = try stage.start(words, ["cp", file, stage.file("done")])
            _ = await asking.nextErrorLine()
            try stage.write("manifest", "2")
            try await stage.decide(.approve)
            let outcome = await asking.outcome()
            #expect(outcome.exitCode == 86 && outcome.errors.contains("was changed after it was approved"))
            #expect(!stage.exists("done"))
            #expect(try stage.report()["ran"]?.bool == false && stage.report()["outcome"]?.string == "changed")
            // The approval is used up all the same, as the ledger says.
            #expect(try stage.report()["performance"]?.string == "threw")
            #expect(try stage.report()["approvals"]?.array?.count == 1)
            #expect(try await stage.run("show", "q1").output.contains("q1  threw"))
        }
    }

    /// Whoever writes to a pipe says when it is read, and what the command reads after the last look.
    @Test func aFileThatBecomesAPipeIsNotUsed() async throws {
        try await AskStage.with { stage in
            let file = stage.file("manifest")
            try stage.write("manifest", "1")
            let asking = try stage.start(["--bind", "manifest=file:\(file)"], ["touch", stage.file("done")])
            _ = await asking.nextErrorLine()
            try FileManager.default.removeItem(atPath: file)
            #expect(mkfifo(file, 0o600) == 0)
            let writer = try ChildProcess("/bin/sh", ["-c", #"printf 1 >"$1""#, "sh", file])
            try await stage.decide(.approve)
            let outcome = await asking.outcome()
            #expect(outcome.exitCode == 86 && outcome.errors.contains("was changed after it was approved"))
            #expect(!stage.exists("done"))
            writer.send(signal: SIGKILL)
        }
    }

    /// `./run` is another program in another folder.
    @Test func whatIsApprovedInOneFolderDoesNotRunInAnother() async throws {
        try await AskStage.with { stage in
            for folder in ["one", "other"] {
                try FileManager.default.createDirectory(atPath: stage.file(folder), withIntermediateDirectories: false)
                try stage.write("\(folder)/run", "echo \(folder)")
                try stage.write("\(folder)/manifest", "1")
            }
            let words = ["--keep", "--bind", "manifest=file:manifest"]
            let asking = try stage.start(words, ["sh", "./run"], folder: "one")
            _ = await asking.nextErrorLine()
            asking.send(signal: SIGTERM)
            _ = await asking.outcome()
            try await stage.decide(.approve)
            let other = try stage.start(words, ["sh", "./run"], folder: "other")
            let refused = await other.outcome()
            #expect(refused.exitCode == 85 && refused.output.isEmpty, "\(refused.errors)")
            let outcome = await (try stage.start(words, ["sh", "./run"], folder: "one")).outcome()
            #expect(outcome.exitCode == 0 && outcome.output == "one\n", "\(outcome.errors)")
        }
    }

    /// The folder was another one when it was approved.
    @Test func aFolderThatIsMovedAfterTheQuestionIsNoticed() async throws {
        try await AskStage.with { stage in
            try FileManager.default.createDirectory(atPath: stage.file("one"), withIntermediateDirectories: false)
            let asking = try stage.start([], ["touch", "done"], folder: "one")
            _ = await asking.nextErrorLine()
            try FileManager.default.moveItem(atPath: stage.file("one"), toPath: stage.file("other"))
            try await stage.decide(.approve)
            let outcome = await asking.outcome()
            #expect(outcome.exitCode == 86 && !stage.exists("other/done"), "\(outcome.errors)")
        }
    }

    /// A program that closes all inherited files gets the lowest numbers for those it opens.
    @Test func thePathOfACopyIsNoNumberThatIsUsedAgain() async throws {
        try await AskStage.withApprover { stage in
            try stage.write("manifest", "1")
            let outcome = try await stage.ask(["--bind", "m=file:\(stage.file("manifest"))"], ["echo", "{m}"])
            let number = outcome.output.split(separator: "/").last.flatMap { Int($0.dropLast()) } ?? 0
            #expect(number >= 100, "\(outcome.output)")
        }
    }

    /// As `sudo` does: it closes what it inherits, and its command has an environment of its own. Standard input is left.
    @Test func aProgramThatClosesDescriptorsHandsOnStandardInputAlone() async throws {
        try await AskStage.with { stage in
            for user in ["alice", "bob", "carol"] { try await stage.emulator.makeDevice(userID: user) }
            try stage.write("manifest", "replicas: 2\n")
            let closing = #"""
                for path in /proc/self/fd/*; do [ "${path##*/}" -le 2 ] || eval "exec ${path##*/}<&-"; done
                exec env -i "$@"
                """#
            let sudo = ["bash", "-c", closing, "sudo"]
            let copy = try await stage.ask(["--bind", "m=file:\(stage.file("manifest"))"], sudo + ["cat", "{m}"])
            #expect(copy.exitCode == 1 && copy.output.isEmpty && copy.errors.contains("No such file"), "\(copy.errors)")
            let variable = try await stage.ask(
                ["--id", "q2", "--bind", "token=env:TOKEN"],
                sudo + ["printenv", "TOKEN"],
                user: "bob",
                environment: ["TOKEN": "t0ken"]
            )
            #expect(variable.exitCode == 1 && variable.output.isEmpty, "\(variable.errors)")
            let words = ["--id", "q3", "--bind", "m=stdin:"]
            let input = try await stage.ask(words, sudo + ["cat"], user: "carol", input: "replicas: 2\n")
            #expect(input.exitCode == 0 && input.output == "replicas: 2\n", "\(input.errors)")
        }
    }

    @Test func aProgramThatIsGoneAtTheStartUsesTheApprovalUp() async throws {
        try await AskStage.with { stage in
            try FileManager.default.copyItem(atPath: "/bin/true", toPath: stage.file("program"))
            let asking = try stage.start([], [stage.file("program")])
            _ = await asking.nextErrorLine()
            try FileManager.default.removeItem(atPath: stage.file("program"))
            try await stage.decide(.approve)
            let outcome = await asking.outcome()
            #expect(outcome.exitCode == 5 && outcome.errors.contains("the approval is used up"), "\(outcome.errors)")
            #expect(!outcome.errors.contains("--help"))
            #expect(try stage.report()["performance"]?.string == "threw" && stage.report()["ran"]?.bool == false)
        }
    }

    @Test func whatCannotBeHandedOnIsNotAskedFor() async throws {
        try await AskStage.with { stage in
            let secret = try await stage.ask(["--bind", "p=env:MOBILE_TOKEN_CLOUD_PASSWORD"], ["echo", "{p}"])
            #expect(secret.exitCode == 2 && secret.errors.contains("is not for the command"), "\(secret.errors)")
            let configured = try await stage.run([
                "configure", "--audience", "test/staging", "--sealing-key", "env:LEDGER_KEY",
            ])
            #expect(configured.exitCode == 0, "\(configured.errors)")
            let key = try await stage.ask(["--bind", "p=env:LEDGER_KEY"], ["echo", "{p}"])
            #expect(key.exitCode == 2 && key.errors.contains("LEDGER_KEY is not for the command"), "\(key.errors)")
            // Number 17: under no name of theirs.
            try stage.write("cloud", "\(stage.emulator.cloudUser):\(stage.emulator.cloudPassword)\n")
            try FileManager.default.linkItem(atPath: stage.file("cloud"), toPath: stage.file("other"))
            for file in [stage.file("cloud"), stage.file("other"), stage.file("default/../cloud")] {
                let words = ["--cloud-credentials", stage.file("cloud"), "--bind", "p=file:\(file)"]
                let outcome = try await stage.ask(words, ["cat", "{p}"])
                #expect(outcome.exitCode == 2 && outcome.errors.contains("is not for the command"), "\(outcome.errors)")
            }
            for file in [
                "/proc/self/environ", "//proc/self/environ", "/proc/1/../self/environ", "/proc/thread-self/fd/0",
            ] {
                let outcome = try await stage.ask(["--bind", "p=file:\(file)"], ["cat", "{p}"])
                #expect(
                    outcome.exitCode == 2 && outcome.errors.contains("about a process"),
                    "\(file): \(outcome.errors)"
                )
            }
            // Bytes that come through a pipe cannot be digested a second time.
            let pipe = try await stage.ask(["--bind", "p=file:/dev/null"], ["true"])
            #expect(pipe.exitCode == 2 && pipe.errors.contains("name {p}"), "\(pipe.errors)")
            #expect(await stage.emulator.operations().isEmpty)
        }
    }

    @Test func aTemplateThatWasEditedIsNoticed() async throws {
        try await AskStage.withApprover { stage in
            try await stage.emulator.addTemplate(AskStage.template(signing: "A9*N${version}*R${binding}*X"))
            let outcome = try await stage.ask([], ["touch", stage.file("done")])
            #expect(outcome.exitCode == 86, "\(outcome.errors)")
            #expect(try stage.report()["outcome"]?.string == "bindingMismatch" && !stage.exists("done"))
        }
    }

    @Test func dataThatTheServerDoesNotShowMustBeAccepted() async throws {
        try await AskStage.withApprover { stage in
            var rules = await stage.emulator.protocolRules()
            rules.documentedAnswersOnly = true
            try await stage.emulator.setProtocolRules(rules)
            let refused = try await stage.ask([], ["touch", stage.file("done")])
            #expect(refused.exitCode == 86, "\(refused.errors)")
            #expect(try stage.report()["outcome"]?.string == "cannotVerify" && !stage.exists("done"))
            try await stage.emulator.makeDevice(userID: "bob")
            let accepted = try await stage.ask(["--id", "q2", "--accept-unverified-data"], ["true"], user: "bob")
            #expect(accepted.exitCode == 0, "\(accepted.errors)")
            let approval = try #require(try stage.report()["approvals"]?.array?.first)
            #expect(approval["evidence"]?.string == "unverifiedData")
        }
    }

    // MARK: Signals and crashes

    @Test(arguments: [SIGTERM, SIGINT]) func aSignalBeforeTheClaimWithdrawsTheQuestion(_ signal: Int32) async throws {
        try await AskStage.with { stage in
            let asking = try stage.start([], ["touch", stage.file("done")])
            _ = await asking.nextErrorLine()
            asking.send(signal: signal)
            let outcome = await asking.outcome()
            #expect(outcome.exitCode == 130)
            #expect(outcome.errors.hasSuffix("mobile-token: withdrawn\n"))
            #expect(await stage.emulator.operations().map(\.status) == [.canceled])
            #expect(try stage.report()["ran"]?.bool == false && stage.report()["outcome"]?.string == "withdrawn")
            let again = try await stage.ask([], ["touch", stage.file("done")])
            #expect(again.exitCode == 82 && !stage.exists("done"))
        }
    }

    @Test func aQuestionThatIsKeptIsWaitedForAgain() async throws {
        try await AskStage.with { stage in
            let asking = try stage.start(["--keep"], ["echo", "done"])
            _ = await asking.nextErrorLine()
            asking.send(signal: SIGTERM)
            #expect(await asking.outcome().exitCode == 130)
            #expect(await stage.emulator.operations().map(\.status) == [.pending])
            #expect(try await stage.run("show", "q1", "--json").output.contains(#""state":"open""#))
            try await stage.decide(.approve)
            let again = try await stage.ask(["--keep"], ["echo", "done"])
            #expect(again.exitCode == 0 && again.output == "done\n", "\(again.errors)")
            #expect(await stage.emulator.operations().count == 1)
        }
    }

    @Test func aQuestionThatIsKeptCanBeWithdrawn() async throws {
        try await AskStage.with { stage in
            let asking = try stage.start(["--keep"], ["true"])
            _ = await asking.nextErrorLine()
            asking.send(signal: SIGTERM)
            _ = await asking.outcome()
            let withdrawn = try await stage.run("withdraw", "q1")
            #expect(withdrawn.output == "The question is withdrawn.\n", "\(withdrawn.errors)")
            #expect(await stage.emulator.operations().map(\.status) == [.canceled])
            #expect(try await stage.run("withdraw", "q2").exitCode == 4)
        }
    }

    /// With a server that does not answer, the question is withdrawn here, and that is all.
    @Test func aSignalIsHeededThoughTheServerIsSilent() async throws {
        try await AskStage.with { stage in
            let asking = try stage.start(["--timeout", "1000"], ["touch", stage.file("done")])
            _ = await asking.nextErrorLine()
            try await stage.emulator.withFault(.init(delay: 1_000)) {
                asking.send(signal: SIGTERM)
                // Longer than the suite may take, if it waited for an answer.
                #expect(await asking.outcome().exitCode == 130)
            }
            #expect(try await stage.run("show", "q1", "--json").output.contains(#""state":"withdrawn""#))
        }
    }

    @Test func whoWasKilledWhileWaitingGoesOn() async throws {
        try await AskStage.with { stage in
            let asking = try stage.start([], ["echo", "done"])
            _ = await asking.nextErrorLine()
            asking.send(signal: SIGKILL)
            #expect(await asking.outcome().wasKilled)
            #expect(try stage.report()["ran"]?.bool == false && stage.report()["outcome"]?.string == "asking")
            try await stage.decide(.approve)
            let again = try await stage.ask([], ["echo", "done"])
            #expect(again.exitCode == 0 && again.output == "done\n", "\(again.errors)")
            #expect(await stage.emulator.operations().count == 1)
        }
    }

    @Test func ofTwoWhoAskForTheSameOneRuns() async throws {
        try await AskStage.withApprover { stage in
            let processes = try (0..<2).map { _ in try stage.start([], ["echo", "done"]) }
            var outcomes: [ChildProcess.Outcome] = []
            for process in processes { outcomes.append(await process.outcome()) }
            #expect(outcomes.map(\.exitCode).sorted() == [0, 84], "\(outcomes.map(\.errors))")
            #expect(outcomes.map(\.output).joined() == "done\n")
            #expect(await stage.emulator.operations().count == 1)
        }
    }

    @Test func aSignalAfterTheClaimIsTheCommands() async throws {
        try await AskStage.withApprover { stage in
            // A background process could miss the signal before it is another program.
            let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done"
            let asking = try stage.start([], ["sh", "-c", script])
            #expect(await asking.nextLine() == "ready")
            asking.send(signal: SIGTERM)
            let outcome = await asking.outcome()
            #expect(outcome.exitCode == 9, "\(outcome.errors)")
            #expect(try stage.report()["ran"]?.bool == true && stage.report()["exitStatus"]?.int64 == 9)
        }
    }

    @Test func afterACrashNobodyKnowsUntilSomebodySettlesIt() async throws {
        try await AskStage.withApprover { stage in
            let command = ["sh", "-c", "echo $$; exec sleep 1000"]
            let asking = try stage.start([], command)
            let process = try #require(await asking.nextLine().flatMap { pid_t($0) })
            defer { kill(process, SIGKILL) }
            asking.send(signal: SIGKILL)
            kill(process, SIGKILL)
            #expect(await asking.outcome().wasKilled)
            // It was at it: the report says that it does not know.
            #expect(try stage.report()["outcome"]?.string == "running" && stage.report()["ran"]?.isNull == true)
            #expect(try await stage.run("settle", "q2", "--done", "--by", "carol").exitCode == 4)

            let again = try await stage.ask([], command)
            #expect(again.exitCode == 87 && again.output.isEmpty, "\(again.errors)")
            #expect(try stage.report()["ran"]?.bool == false && stage.report()["performance"]?.string == "unknown")
            let shown = try await stage.run("show", "--state", "unknown")
            #expect(shown.lines.count == 2 && shown.lines.last?.hasPrefix("q1  unknown") == true)

            #expect(try await stage.run("settle", "q1", "--done").exitCode == 2)
            let settled = try await stage.run("settle", "q1", "--done", "--by", "carol")
            #expect(settled.exitCode == 0 && settled.output == "Settled: it was done.\n", "\(settled.errors)")
            #expect(try await stage.run("show", "q1").output.contains("wasDone, says carol"))
            #expect(try await stage.run("settle", "q1", "--done", "--by", "carol").exitCode == 2)
            #expect(try await stage.ask([], command).exitCode == 84)
            #expect(try stage.report()["performance"]?.string == "done")
        }
    }

    /// As on a full disk. The larger limit has room for the question, and none for its answer.
    @Test(arguments: [33, 50]) func aLedgerThatCannotGrowRunsNothing(_ kibibytes: Int) async throws {
        try await AskStage.withApprover { stage in
            #expect(try await stage.run("show").exitCode == 0)
            let script = #"""
                trap '' XFSZ; ulimit -f \#(kibibytes)
                exec "$0" ask --template deploy --user alice -p service=a -p version=1 -- touch "$HOME/done"
                """#
            let outcome = try await stage.bash(script, environment: stage.environment)
            #expect(outcome.exitCode == 5 && outcome.errors.contains("File too large"), "\(outcome.errors)")
            #expect(!stage.exists("done"))
        }
    }

    // MARK: What is refused before anybody is asked

    @Test func whatCannotBeDoneIsRefusedBeforeAnybodyIsAsked() async throws {
        try await AskStage.with { stage in
            let refused: [([String], [String]?, Int32, String)] = [
                ([], ["no-such-program"], 2, "there is no program 'no-such-program'"),
                ([], [stage.path], 2, "there is no program"),
                ([], [], 2, "there is no command after --"),
                (["touch"], nil, 2, "the command comes after --"),
                (["--json"], ["true"], 2, "standard output is the command's alone"),
                (["--bind", "manifest=file:\(stage.file("nothing"))"], ["true"], 2, "cannot read"),
                (["--bind", "manifest=nothing"], ["true"], 2, "names no source"),
                (["--bind", "p=env:MOBILE_TOKEN_CLOUD_PASSWORD"], ["true"], 2, "not for the command"),
                (["-p", "binding=x"], ["true"], 2, "the desk's own"),
                (["-p", "other=\u{430}"], ["true"], 2, "printable ASCII"),
                (["--all", "--of", "bob"], ["true"], 2, "say who must approve"),
                (["--exclude", "ALICE"], ["true"], 2, "nobody to ask"),
                (["--pin", "sha256//x"], ["true"], 2, "see 'ask configure'"),
                (["--insecure"], ["true"], 2, "no effect"),
                (["--wait", "5 minutes"], ["true"], 2, "takes a time"),
            ]
            for (words, command, exitCode, message) in refused {
                try? FileManager.default.removeItem(atPath: stage.file("report"))
                let outcome = try await stage.ask(words, command)
                #expect(outcome.exitCode == exitCode && outcome.errors.contains(message), "\(words) \(outcome.errors)")
                #expect(outcome.output.isEmpty)
                #expect(try stage.report()["ran"]?.bool == false)
            }
            let unknown = try await stage.run("--template", "deplot", "--user", "alice", "--", "true")
            #expect(unknown.exitCode == 2 && unknown.errors.contains("pins no template 'deplot', but deploy"))
            // Without the report that was asked for, nothing runs.
            let report = stage.file("nothing/report")
            let unreported = try await stage.run([
                "--template", "deploy", "--user", "alice", "--report", report, "--", "true",
            ])
            #expect(unreported.exitCode == 5, "\(unreported.errors)")
            #expect(await stage.emulator.operations().isEmpty)
        }
    }

    /// Help ends with 0, which without a command says that somebody approved: a name from elsewhere must not lead there.
    @Test func aValueIsNeverTakenForARequestForHelp() async throws {
        try await AskStage.with { stage in
            try await stage.emulator.makeDevice(userID: "alice", rule: .init(.reject))
            #expect(try await stage.ask(["--exclude", "-h"], nil).exitCode == 80)
            #expect(try await stage.ask(["--exclude", "--help"], nil).exitCode == 2)
            #expect(try await stage.ask(["--keep", "--help"], nil).exitCode == 0)
        }
    }

    /// Swift replaces what is not UTF-8, and another file than the named one would be touched.
    @Test func wordsThatWouldBeChangedAreRefused() async throws {
        try await AskStage.withApprover { stage in
            let script = #"exec "$0" ask --template deploy --user alice -p service=a -p version=1 -- echo $'a\xff'"#
            let outcome = try await stage.bash(script, environment: stage.environment)
            #expect(outcome.exitCode == 2 && outcome.output.isEmpty && outcome.errors.contains("not UTF-8"))
            #expect(await stage.emulator.operations().isEmpty)
        }
    }

    @Test func variablesThatAreNotTextReachTheCommandAsTheyAre() async throws {
        try await AskStage.withApprover { stage in
            let words =
                #"--template deploy --user alice -p service=a -p version=1 -- sh -c 'printf %s "$NAME" | od -An -tx1'"#
            let script = #"export NAME=$'a\xff'; exec "$0" ask \#(words)"#
            let outcome = try await stage.bash(script, environment: stage.environment)
            #expect(outcome.exitCode == 0 && outcome.output == " 61 ff\n", "\(outcome.errors)")
        }
    }

    @Test func aReportReplacesNothingButAReport() async throws {
        try await AskStage.with { stage in
            try stage.write("manifest", "replicas: 2\n")
            try FileManager.default.createSymbolicLink(
                atPath: stage.file("link"),
                withDestinationPath: stage.file("manifest")
            )
            #expect(mkfifo(stage.file("pipe"), 0o600) == 0)
            let bound = ["--bind", "m=file:\(stage.file("manifest"))"]
            for (name, words) in [("link", []), ("pipe", []), ("manifest", bound)] {
                let all =
                    ["--template", "deploy", "--user", "alice", "-p", "service=a", "-p", "version=1"] + words
                    + ["--report", stage.file(name), "--", "true"]
                let outcome = try await stage.run(all)
                #expect(outcome.exitCode == 2 && outcome.errors.contains("--report"), "\(outcome.errors)")
            }
            #expect(try String(contentsOfFile: stage.file("link"), encoding: .utf8) == "replicas: 2\n")
            // Number 19: nor what the call itself lives on, whatever it is called, and whether or not it is there yet.
            #expect(try await stage.run("show").exitCode == 0)
            try stage.write("cloud", "\(stage.emulator.cloudUser):\(stage.emulator.cloudPassword)\n")
            try FileManager.default.linkItem(
                atPath: stage.file("default/approvals.sqlite"),
                toPath: stage.file("ledger")
            )
            let ledger = "default/approvals.sqlite"
            let names = [
                "default/asking.json", ledger, "\(ledger).key", "\(ledger)-lease", "\(ledger)-wal", "\(ledger)-shm",
                "default/../default/asking.json", "ledger", "cloud",
            ]
            for name in names {
                let before = FileManager.default.contents(atPath: stage.file(name))
                let words = [
                    "--template", "deploy", "--user", "alice", "-p", "service=a", "-p", "version=1",
                    "--cloud-credentials", stage.file("cloud"), "--report", stage.file(name), "--", "true",
                ]
                let outcome = try await stage.run(words)
                #expect(outcome.exitCode == 2 && outcome.errors.contains("--report"), "\(name): \(outcome.errors)")
                #expect(FileManager.default.contents(atPath: stage.file(name)) == before, "\(name)")
            }
            #expect(await stage.emulator.operations().isEmpty)
        }
    }

    /// A template that the server does not have is what a beginner meets first.
    @Test func aRefusalOfTheServerIsToldInItsWords() async throws {
        try await AskStage.with { stage in
            try await stage.emulator.removeTemplate("deploy")
            let outcome = try await stage.ask([], ["true"])
            #expect(outcome.exitCode == 83 && outcome.errors.lowercased().contains("template"), "\(outcome.errors)")
            #expect(outcome.errors.components(separatedBy: "ERROR_REQUEST").count == 2, "\(outcome.errors)")
            #expect(try stage.report()["ran"]?.bool == false && stage.report()["outcome"]?.string == "failed")
        }
    }

    @Test func aServerThatCannotBeAskedIsNamedAtOnce() async throws {
        try await AskStage.with { stage in
            let denied = try await stage.ask([], ["true"], environment: ["MOBILE_TOKEN_CLOUD_PASSWORD": "wrong"])
            #expect(denied.exitCode == 78, "\(denied.errors)")
            let missing = try await stage.ask([], ["true"], environment: ["MOBILE_TOKEN_CLOUD_PASSWORD": ""])
            #expect(missing.exitCode == 78 && missing.errors.contains("there are no credentials"))
            let away = try await stage.run("configure", "--cloud-url", "http://127.0.0.1:9")
            #expect(away.exitCode == 0, "\(away.errors)")
            #expect(try await stage.ask([], ["true"]).exitCode == 3)
            #expect(try stage.report()["ran"]?.bool == false)
        }
    }

    @Test func anotherKeyThanTheServersIsRefused() async throws {
        try await AskStage.with(altered(Emulator.Configuration()) { $0.tls = .selfSigned }) { stage in
            try await stage.emulator.makeDevice(userID: "alice")
            let certificate = try #require(stage.emulator.certificate)
            let words = ["configure", "--cloud-url", stage.emulator.cloudURL, "--ca-file", certificate.file, "--pin"]
            let wrong = "sha256//" + String(repeating: "A", count: 43) + "="
            #expect(try await stage.run(words + [wrong]).exitCode == 0)
            let refused = try await stage.ask([], ["true"])
            #expect(refused.exitCode == 11 && refused.errors.contains("nobody was asked"), "\(refused.errors)")
            // The key of now, and the next one.
            #expect(try await stage.run(words + ["\(wrong);\(certificate.publicKeyPin)"]).exitCode == 0)
            #expect(try await stage.ask([], ["true"]).exitCode == 0)
        }
    }

    // MARK: Credentials and settings

    @Test func credentialsFromADescriptorAreNotHandedOn() async throws {
        try await AskStage.withApprover { stage in
            try stage.write("cloud", "\(stage.emulator.cloudUser):\(stage.emulator.cloudPassword)\n")
            let script = #"""
                exec "$0" ask --template deploy --user alice --cloud-credentials /dev/fd/7 -p service=a -p version=1 \
                    -- sh -c 'test -e /dev/fd/8 && ! test -e /dev/fd/7' 7<"$HOME/cloud" 8</dev/null
                """#
            let outcome = try await stage.bash(script, environment: [:])
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
        }
    }

    /// Number 17: one descriptor has many names.
    @Test(arguments: ["/proc/$$/fd/7", "//dev/fd/7", "/proc/thread-self/fd/7", "/dev/../dev/fd/7", "$HOME/cloud"])
    func credentialsAreNotHandedOnUnderAnyName(_ name: String) async throws {
        try await AskStage.with { stage in
            try await stage.emulator.makeDevice(userID: "bob")
            try stage.write("cloud", "\(stage.emulator.cloudUser):\(stage.emulator.cloudPassword)\n")
            let script = #"""
                exec 7<"$HOME/cloud" 8</dev/null 9<&7
                exec "$0" ask --template deploy --user bob -p service=a -p version=1 --cloud-credentials "\#(name)" \
                    -- sh -c 'test -e /dev/fd/8 && ! test -e /dev/fd/7 && ! test -e /dev/fd/9'
                """#
            let outcome = try await stage.bash(script, environment: [:])
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
        }
    }

    @Test func credentialsFromStandardInputAreNotHandedOn() async throws {
        try await AskStage.withApprover { stage in
            try stage.write("cloud", "\(stage.emulator.cloudUser):\(stage.emulator.cloudPassword)\n")
            let script = #"""
                exec "$0" ask --template deploy --user alice --cloud-credentials /dev/stdin -p service=a -p version=1 -- cat <"$HOME/cloud"
                """#
            let outcome = try await stage.bash(script, environment: [:])
            #expect(outcome.exitCode == 0 && outcome.output.isEmpty, "\(outcome.errors)")
        }
    }

    @Test func settingsThatWouldAskForLessAreRefused() async throws {
        try await AskStage.with { stage in
            let unbound = try await stage.run("configure", "--signs", "login=A2*T${tool}")
            #expect(unbound.exitCode == 2 && unbound.errors.contains("*R${binding}"), "\(unbound.errors)")
            #expect(try await stage.run("configure", "--audience", "other").exitCode == 2)
            #expect(try await stage.run("configure", "--cloud-url", "http://bank.example.com").exitCode == 2)
            // A pin that is misspelt is not taken for none.
            let file = stage.file("default/asking.json")
            let settings = try String(contentsOfFile: file, encoding: .utf8)
            try settings.replacing("\"url\"", with: "\"pinn\" : \"x\", \"url\"")
                .write(toFile: file, atomically: true, encoding: .utf8)
            let outcome = try await stage.ask([], ["true"])
            #expect(outcome.exitCode == 78 && outcome.errors.contains("'cloud.pinn'"), "\(outcome.errors)")
            try settings.replacing(#/"url" : "[^"]*"/#, with: #""url" : "http://bank.example.com""#)
                .write(toFile: file, atomically: true, encoding: .utf8)
            let open = try await stage.ask([], ["true"])
            #expect(open.exitCode == 78 && open.errors.contains("profile's cloud.url: http to"), "\(open.errors)")
        }
    }

    @Test func aLedgerIsNotDeletedByTheWay() async throws {
        try await AskStage.with { stage in
            #expect(try await stage.run("show").output == "No questions.\n")
            let list = try await Program.run("profile", "list", home: stage.home.url)
            #expect(list.output.contains("test/staging"))
            let refused = try await Program.run("profile", "remove", "default", home: stage.home.url)
            #expect(refused.exitCode == 2 && refused.errors.contains("--discard-ledger"))
            let copy = stage.file("copy")
            try FileManager.default.copyItem(atPath: stage.file("default"), toPath: copy)
            let copied = try await stage.run("show", "--profile", "copy")
            #expect(copied.exitCode == 5, "\(copied.errors)")
            #expect(try await stage.run("adopt-ledger", "--profile", "copy").exitCode == 0)
            #expect(try await stage.run("show", "--profile", "copy").exitCode == 0)
            let words = ["profile", "remove", "default", "--discard-ledger"]
            #expect(try await Program.run(words, home: stage.home.url).exitCode == 0)
        }
    }
}

/// A server with a template, and a profile that asks there.
private struct AskStage {
    static let form = "A9*T${service}*N${version}*R${binding}"

    let emulator: Emulator
    let home: TemporaryFolder

    var path: String { self.home.path }

    static func with(
        _ configuration: Emulator.Configuration = Emulator.Configuration(),
        _ body: (Self) async throws -> Void
    ) async throws {
        try await withEmulator(configuration) { emulator in
            let stage = Self(emulator: emulator, home: try TemporaryFolder())
            try await emulator.addTemplate(self.template(signing: self.form))
            let configured = try await stage.run([
                "configure", "--audience", "test/staging", "--signs", "deploy=\(self.form)",
            ])
            #expect(configured.exitCode == 0, "\(configured.errors)")
            // Nobody is asked who has no device.
            try await emulator.makeDevice(userID: "alice", rule: .init(.never))
            try await body(stage)
        }
    }

    /// As ``with(_:_:)``, with a device that approves.
    static func withApprover(_ body: (Self) async throws -> Void) async throws {
        try await self.with { stage in
            try await stage.emulator.makeDevice(userID: "alice")
            try await body(stage)
        }
    }

    static func template(signing form: String) -> String {
        let document: JSONValue = [
            "name": "deploy", "data": .string(form),
            "allowedSignatureType": ["type": "2FA", "variants": ["possession_knowledge"]],
            "formData": [
                "title": "Deploy ${service} ${version}?", "message": "${fingerprint}",
                "attributes": [["type": "KEY_VALUE", "id": "s", "label": "Service", "value": "${service}"]],
            ],
        ]
        return String(decoding: document.serialized(), as: UTF8.self)
    }

    func file(_ name: String) -> String { self.home.file(name) }
    func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: self.file(name)) }
    func write(_ name: String, _ text: String) throws {
        try text.write(toFile: self.file(name), atomically: true, encoding: .utf8)
    }
    func report() throws -> JSONValue {
        try JSONValue(parsing: String(contentsOfFile: self.file("report"), encoding: .utf8))
    }

    func decide(_ decision: Emulator.DeviceDecision) async throws {
        let (device, operation) = (await self.emulator.devices().first, await self.emulator.operations().first)
        _ = try await self.emulator.decide(#require(operation).id, decision, byDevice: #require(device).id)
    }

    func run(_ words: String...) async throws -> ChildProcess.Outcome { try await self.run(words) }
    func run(_ words: [String]) async throws -> ChildProcess.Outcome {
        try await Program.run(["ask"] + words, home: self.home.url, environment: self.environment)
    }

    /// Runs a script, whose `$0` is the program.
    func bash(_ script: String, environment: [String: String]) async throws -> ChildProcess.Outcome {
        let places = ["HOME": self.path, "MOBILE_TOKEN_HOME": self.path, "PATH": "/usr/bin:/bin"]
        return try await ChildProcess.run(
            "/bin/bash",
            ["-c", script, ChildProcess.besideTests("mobile-token")],
            environment: environment.merging(places) { $1 }
        )
    }

    var environment: [String: String] {
        [
            "MOBILE_TOKEN_CLOUD_URL": self.emulator.cloudURL,
            "MOBILE_TOKEN_CLOUD_USER": self.emulator.cloudUser,
            "MOBILE_TOKEN_CLOUD_PASSWORD": self.emulator.cloudPassword,
            "MOBILE_TOKEN_CA_FILE": self.emulator.certificate?.file ?? "",
        ]
    }

    /// Asks for the question `q1`, and a command if there is one.
    func start(
        _ words: [String],
        _ command: [String]?,
        user: String? = "alice",
        folder: String? = nil,
        environment: [String: String] = [:]
    ) throws -> ChildProcess {
        var all = [
            "ask", "--template", "deploy", "-p", "service=billing", "-p", "version=4.2.1", "--report",
            self.file("report"),
        ]
        if let user { all += ["--user", user] }
        if !words.contains("--id") { all += ["--id", "q1"] }
        all += words + (command.map { ["--"] + $0 } ?? [])
        let variables = self.environment.merging(environment) { $1 }
        guard let folder else { return try Program.start(all, home: self.home.url, environment: variables) }
        return try ChildProcess(
            "/bin/sh",
            ["-c", #"cd "$0" && exec "$@""#, self.file(folder), ChildProcess.besideTests("mobile-token")] + all,
            environment: variables.merging(["MOBILE_TOKEN_HOME": self.path, "PATH": "/usr/bin:/bin"]) { $1 }
        )
    }

    func ask(
        _ words: [String],
        _ command: [String]?,
        user: String? = "alice",
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> ChildProcess.Outcome {
        let asking = try self.start(words, command, user: user, environment: environment)
        asking.write(input)
        return await asking.outcome()
    }
}
