import DeploymentGate
import ExactJSON
import Foundation
import MobileTokenApprovals
import MobileTokenEmulator
import MobileTokenTesting
import Testing

/// The program, at a server on a socket. One run after the other: the pipes of one would leak into the other.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ProgramTests {
    private static let template = #"""
        {
          "name": "deploy", "data": "\#(DeploymentGate.template.signs)",
          "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
          "formData": {"title": "Deploy ${service} ${version}?", "message": "${fingerprint}", "attributes": []}
        }
        """#

    private func run(
        _ words: [String],
        input: String,
        at emulator: Emulator,
        in folder: Folder,
        changing changes: [String: String] = [:]
    ) async throws -> (status: Int32, output: String, errors: String) {
        let program = Process()
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        program.executableURL = URL(filePath: tests).deletingLastPathComponent().appending(path: "deployment-gate")
        program.arguments = words
        let settings = [
            "CLOUD_URL": emulator.cloudURL, "CLOUD_USER": emulator.cloudUser, "CLOUD_PASSWORD": emulator.cloudPassword,
            "AUDIENCE": "billing/staging", "LEDGER": "\(folder.path)/ledger/approvals.sqlite",
            "TEAM": "alice,bob,carol", "FOLDER": folder.path,
        ].merging(changes) { $1 }
        program.environment = Dictionary(uniqueKeysWithValues: settings.map { ("DEPLOYMENT_GATE_\($0.key)", $0.value) })
        let (given, output, errors) = (Pipe(), Pipe(), Pipe())
        (program.standardInput, program.standardOutput, program.standardError) = (given, output, errors)
        try program.run()
        try given.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try given.fileHandleForWriting.close()
        return await withCheckedContinuation { continuation in
            // Waiting blocks, so it has a thread of its own.
            Thread.detachNewThread {
                let texts = [output, errors].map {
                    String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
                }
                program.waitUntilExit()
                continuation.resume(returning: (program.terminationStatus, texts[0], texts[1]))
            }
        }
    }

    private static var deployment: String { String(decoding: Stage.deployment.json.serialized(), as: UTF8.self) }

    private static func manifest(in folder: Folder) -> String? {
        try? String(contentsOfFile: folder.path + "/billing.manifest", encoding: .utf8)
    }

    @Test func twoPhonesDeploy() async throws {
        try await withEmulator { emulator in
            try await emulator.addTemplate(Self.template)
            for user in ["bob", "carol"] { try await emulator.makeDevice(userID: user) }
            let folder = try Folder()
            let words = ["deploy", "deploy-1", "alice"]
            let first = try await self.run(words, input: Self.deployment, at: emulator, in: folder)
            #expect(first.status == 0, "\(first.errors)")
            // The screens of both phones are to be compared.
            #expect(
                first.errors.contains(/asked bob \(\w{4}-\w{4}\), carol \(\w{4}-\w{4}\), until 2/),
                "\(first.errors)"
            )
            #expect(Self.manifest(in: folder) == "replicas: 2\n")
            let again = try await self.run(words, input: Self.deployment, at: emulator, in: folder)
            #expect(again.status == 1 && again.errors.contains("alreadyPerformed"), "\(again.errors)")
        }
    }

    /// The agent is at the other end of a pipe, and hears nothing of what the server holds.
    @Test func anAgentsCallIsAskedForAndAnswered() async throws {
        try await withEmulator { emulator in
            try await emulator.addTemplate(Self.template)
            try await emulator.makeDevice(userID: "alice", rule: .init(.reject))
            let folder = try Folder()
            let calls = #"{"id":"1","tool":"deploy","arguments":\#(Self.deployment)}"# + "\nnonsense\n"
            let words = ["tools", "session-1", "alice"]
            let end = try await self.run(words, input: calls, at: emulator, in: folder)
            let answers = try end.output.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
            #expect(answers.first?["refused"]?.string == "A person said no. Do not ask again.", "\(end.errors)")
            #expect(answers.count == 2 && answers.last?["refused"] != nil)
            #expect(Self.manifest(in: folder) == nil)
            for secret in [emulator.cloudPassword, folder.path] { #expect(!end.output.contains(secret)) }
        }
    }

    @Test func aServerElsewhereNeedsAPin() async throws {
        try await withEmulator { emulator in
            let folder = try Folder()
            for url in ["https://cloud.example.com", "http://cloud.example.com", "http://127.0.0.1.example.com"] {
                let end = try await self.run(
                    ["deploy", "deploy-1", "alice"],
                    input: Self.deployment,
                    at: emulator,
                    in: folder,
                    changing: ["CLOUD_URL": url]
                )
                #expect(end.status == 1 && end.errors.contains("CLOUD_PIN is not set"), "\(end.errors)")
            }
        }
    }
}
