import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

/// A person is shown all of an operation before a decision, the data to sign, and the parts that could not be read.
@Suite(.timeLimit(.minutes(5))) struct ShownToAPersonTests {
    private static func page(_ path: String, status: Int = 200, _ json: String) -> FaultRule {
        FaultRule(match: .init(path: path), effect: .init(page: .init(.before, status: status, text: json)))
    }

    private static func operation(_ member: String = "") -> String {
        """
        {"status":"OK","responseObject":[{"id":"a1b2c3d4","name":"payment","data":"A2","status":"PENDING",\
        "operationCreated":"2026-11-28T12:00:00+0000","operationExpires":"2027-01-01T00:00:00",\
        "allowedSignatureType":{"type":"2FA","variants":["possession_knowledge"]},\
        "formData":{"title":"T","message":"M","attributes":[]}}]}
        """
    }

    @Test func anOperationThatCannotBeReadIsNamed() async throws {
        try await withActivatedProgram { emulator, home in
            await emulator.faults.add(Self.page("/**/operation/list", Self.operation()))
            let list = try await Program.run("list", home: home.url)
            #expect(list.exitCode == 0)
            #expect(list.output == "No operation that can be read; not read: 1.\n")
            #expect(list.errors.contains("a1b2c3d4: responseObject[0].operationExpires: not a date with an offset"))

            for words in [["wait", "a1b2c3d4"], ["wait", "a1b2"], ["wait"]] {
                let wait = try await Program.run(words + ["--within", "60"], home: home.url)
                #expect(wait.exitCode == 3 && wait.errors.contains("operationExpires"), "\(words): \(wait.errors)")
            }
        }
    }

    /// Row `language none Accept-Language 'en' detail`.
    @Test func anOperationWithoutTextsIsNotUnknown() async throws {
        try await withActivatedProgram { emulator, home in
            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            let answer =
                #"{"status":"ERROR","responseObject":{"code":"INVALID_REQUEST","message":"Template not found"}}"#
            await emulator.faults.add(Self.page("/**/operation/detail", status: 400, answer))
            let shown = try await Program.run("show", login.id, home: home.url)
            #expect(shown.exitCode == 1)
            #expect(shown.errors.contains("Template not found") && shown.errors.contains("es_operation_template"))
        }
    }

    @Test func aLongNoteIsShownToItsEnd() async throws {
        try await withActivatedProgram { emulator, home in
            let note = String(repeating: "wait ", count: 430) + "and pay everything"
            let payment = try await emulator.cloud.createOperation(
                named: "payment",
                data: "A2",
                formData: [
                    "title": "Login", "message": "Log in?",
                    "attributes": [["type": "NOTE", "id": "n", "label": "Note", "note": .string(note)]],
                ],
                userID: "alice"
            )
            let outcome = try await Program.runWithPassword("approve", payment.id, home: home.url)
            #expect(outcome.exitCode == 12)
            #expect(outcome.errors.contains("and pay everything") && outcome.errors.contains("longText: n"))
        }
    }

    /// The bank's own words end a decision: a script finds them in `resultText`.
    @Test func theBanksTextFollowsTheDecision() async throws {
        try await withActivatedProgram { emulator, home in
            for isJSON in [false, true] {
                let login = try await emulator.cloud.createOperation("login", userID: "alice")
                let words = ["approve", login.id] + (isJSON ? ["--json"] : [])
                let outcome = try await Program.runWithPassword(words, home: home.url)
                #expect(outcome.exitCode == 0, "\(outcome.errors)")
                if isJSON {
                    #expect(try JSONValue(parsing: outcome.output)["resultText"] == "You are logged in")
                } else {
                    #expect(outcome.output.hasSuffix("You are logged in\n"))
                }
            }
        }
    }

    /// Row `allowedSignatureType p_pk`: one factor, and no variants.
    @Test func aSingleFactorNeedsNoPassword() async throws {
        try await withActivatedProgram { emulator, home in
            let login = try await emulator.cloud.createOperation("login_1FA", userID: "alice")
            let detail = """
                {"status":"OK","responseObject":{"id":"\(login.id)","name":"login_1FA","data":"A3","status":"PENDING",\
                "operationCreated":"2026-11-28T12:00:00+0000","operationExpires":"2099-01-01T00:00:00+0000",\
                "allowedSignatureType":{"type":"1FA","variants":[]},\
                "formData":{"title":"T","message":"M","attributes":[]}}}
                """
            await emulator.faults.add(Self.page("/**/operation/detail", detail))
            let outcome = try await Program.run("approve", login.id, home: home.url)
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            #expect(try await emulator.cloud.operation(login.id).status == .approved)
        }
    }

    /// Row `proximity code right`. Without the code, the attempt would count as a failure of the operation.
    @Test func aProximityCodeIsAskedForBeforeAnythingIsSigned() async throws {
        try await withActivatedProgram { emulator, home in
            let login = try await emulator.cloud.createOperation("login_proximity", userID: "alice")
            func approve(_ more: String...) async throws -> ChildProcess.Outcome {
                try await Program.runWithPassword(["approve", login.id] + more, home: home.url)
            }
            let without = try await approve("--accept", "screenToPass")
            #expect(without.exitCode == 2 && without.errors.contains("--proximity-code"), "\(without.errors)")
            let operation = try await emulator.cloud.operation(login.id)
            #expect(operation.status == .pending && operation.failureCount == 0)
            let code = try #require(operation.proximityCode)
            let outcome = try await approve("--proximity-code", code)
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
        }
    }

    @Test func anInboxThatMayGoOnSaysSo() async throws {
        try await withActivatedProgram { emulator, home in
            for number in 0..<1_001 {
                _ = try await emulator.cloud.createMessage(
                    .init(userID: "alice", subject: "\(number)", summary: "s", body: "b")
                )
            }
            let text = try await Program.run("inbox", "list", home: home.url)
            #expect(text.errors.contains("1000 messages are read at most: there may be more"), "\(text.errors)")
            let json = try await Program.run("inbox", "list", "--json", home: home.url)
            #expect(try JSONValue(parsing: json.output).array?.count == 1_000)
            #expect(try JSONValue(parsing: json.errors)["note"]?["limit"] == 1_000)
        }
    }

    /// Row `risk flags 'XCF' without ui`: the server sends a warning without texts, and whoever approves passes it in our words.
    @Test func aWarningWithoutTextsIsShownInOurWords() async throws {
        try await withActivatedProgram { emulator, home in
            try await emulator.addTemplate(
                """
                {"name": "risky", "data": "A2", "riskFlags": "XCF",
                 "formData": {"title": "T", "message": "M", "attributes": [
                   {"type": "HEADING", "id": "h", "label": "H", "level": 2}]},
                 "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]}}
                """
            )
            let risky = try await emulator.cloud.createOperation("risky", userID: "alice")
            let (heading, message) = ("Warning", "The bank warns of fraud, and gives no reason.")
            let shown = try await Program.run("show", risky.id, home: home.url)
            #expect(shown.output.contains("\(heading): \(message)"), "\(shown.output)")
            let json = try await Program.run("show", risky.id, "--json", home: home.url)
            let document = try JSONValue(parsing: json.output)
            let screen = document["ui"]?["preApprovalScreens"]?.array?.first
            #expect(screen?["type"] == "WARNING" && screen?["heading"]?.string == heading, "\(json.output)")
            #expect(screen?["message"]?.string == message)
            #expect(document["ui"]?["flipButtons"] == true && document["ui"]?["blockApprovalOnCall"] == true)
            #expect(document["attributes"]?[0]?["type"] == "HEADING" && document["attributes"]?[0]?["level"] == 2)
            #expect(document["doubts"]?.array?.contains { $0["kind"] == "screenToPass" } == true)
            for (accepted, exitCode) in [([], 12), (["--accept", "screenToPass"], 0)] as [([String], Int32)] {
                let outcome = try await Program.runWithPassword(["approve", risky.id] + accepted, home: home.url)
                #expect(outcome.exitCode == exitCode, "\(outcome.errors)")
            }
        }
    }

    /// A script sees which screens come before an approval, in the list too.
    @Test func theScreensOfAnOperationAreShownToScripts() async throws {
        try await withActivatedProgram { emulator, home in
            try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.cloud.createOperation("login_preApproval", userID: "alice")
            let list = try await Program.run("list", "--json", home: home.url)
            let operations = try #require(try JSONValue(parsing: list.output).array)
            #expect(operations.map { $0["name"] } == ["login_preApproval", "login"])
            #expect(operations.last?["ui"] == .null)
            let ui = try #require(operations.first?["ui"])
            let types = ui["preApprovalScreens"]?.array?.compactMap { $0["type"]?.string } ?? []
            #expect(types == ["WARNING"], "\(list.output)")
            #expect(ui["preApprovalScreens"]?.array?.first?["heading"]?.string?.isEmpty == false)
            #expect(ui["flipButtons"] == false)
            let id = try #require(operations.first?["id"]?.string)
            let shown = try await Program.run("show", id, "--json", home: home.url)
            #expect(try JSONValue(parsing: shown.output)["ui"] == operations.first?["ui"])
        }
    }

    @Test func recoveryCodesAreShownOnceOnRequest() async throws {
        var configuration = Emulator.Configuration()
        configuration.profile = Emulator.ServerProfile(.v1_9)
        try await withEmulator(configuration) { emulator in
            for isAsked in [true, false] {
                let home = try TemporaryFolder()
                let registration = try await emulator.cloud.register(userID: "alice")
                let words =
                    [
                        "activate", registration.activationQRCode, "--url", emulator.baseURL, "--sdk-configuration",
                        emulator.sdkConfiguration, "--json",
                    ] + (isAsked ? ["--recovery-codes"] : [])
                let outcome = try await Program.runWithPassword(words, home: home.url)
                #expect(outcome.exitCode == 0, "\(outcome.errors)")
                let recovery = try JSONValue(parsing: outcome.output)["recovery"]
                let code = recovery?["code"]?.string ?? ""
                #expect(isAsked ? code.count == 23 : recovery == nil, "\(outcome.output)")
                #expect((recovery?["puk"]?.string?.count == 10) == isAsked)
                #expect(outcome.errors.contains("--recovery-codes") == !isAsked)
                for file in try FileManager.default.subpathsOfDirectory(atPath: home.url.path) where isAsked {
                    let content = FileManager.default.contents(atPath: home.url.appending(path: file).path) ?? Data()
                    #expect(content.range(of: Data(code.utf8)) == nil, "\(file)")
                }
            }
        }
    }

    /// The vault wants two factors, the approval one: each has its own, and the approval carries the device's signature.
    @Test func aDeviceSignatureGoesWithAnApprovalByPossession() async throws {
        try await withActivatedProgram { emulator, home in
            let login = try await emulator.cloud.createOperation("login_1FA", userID: "alice")
            let outcome = try await Program.runWithPassword("approve", login.id, "--device-signature", home: home.url)
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            #expect(try await emulator.cloud.operation(login.id).status == .approved)
            let receipts = try await Program.run("receipts", "show", "--json", home: home.url)
            let factors = try JSONValue(parsing: receipts.output).array?.first?["factors"]
            #expect(factors == "possession", "\(receipts.output)")
            let keys = try await Program.run("device-key", home: home.url)
            #expect(keys.exitCode == 0 && keys.output.contains("PUBLIC KEY"))
        }
    }

    @Test func aHistoryThatMayGoOnSaysSo() async throws {
        try await withActivatedProgram { emulator, home in
            for _ in 0..<101 { _ = try await emulator.cloud.createOperation("login", userID: "alice") }
            let text = try await Program.run("history", "--password-stdin", home: home.url, input: "1234\n")
            #expect(text.errors.contains("lists 100 operations at most: there may be more"))
            let json = try await Program.run("history", "--json", "--password-stdin", home: home.url, input: "1234\n")
            #expect(try JSONValue(parsing: json.output).array?.count == 100)
            #expect(try JSONValue(parsing: json.errors)["note"]?["limit"] == 100)
        }
    }

    @Test func aFileOfASecretIsReadAsTextOrNotAtAll() async throws {
        try await withActivatedProgram { emulator, home in
            let file = home.url.appending(path: "password")
            for (bytes, code) in [
                (Array("\u{FEFF}1234\n".utf8), 0), ([0xFF, 0xFE] + "1234\n".utf16.flatMap { [UInt8($0), 0] }, 2),
                ("1234\n".utf16.flatMap { [0, UInt8($0)] }, 2), ("1234\n".utf16.flatMap { [UInt8($0), 0] }, 2),
            ] as [([UInt8], Int32)] {
                let login = try await emulator.cloud.createOperation("login", userID: "alice")
                try Data(bytes).write(to: file)
                let outcome = try await Program.run(
                    ["approve", login.id, "--password-file", file.path],
                    home: home.url
                )
                #expect(outcome.exitCode == code, "\(bytes): \(outcome.errors)")
            }
            let status = try await Program.run("status", "--json", home: home.url)
            #expect(try JSONValue(parsing: status.output)["failedAttempts"] == 0, "\(status.output)")
        }
    }
}
