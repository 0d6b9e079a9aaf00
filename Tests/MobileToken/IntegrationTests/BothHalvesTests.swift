import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing
import WireFacts

import MobileTokenApprovals

/// Both halves in one process: a desk asks, an agent decides by its policy, and their receipts tell the same.
@Suite(.timeLimit(.minutes(8))) struct BothHalvesTests {
    private let clock = ManualClock()
    private let traffic = Traffic()
    /// Only the agent's clock is moved, much faster than the server's: while it signs on a busy machine, minutes pass for it.
    private static let expiry = Duration.seconds(86_400)
    private static let form = "A9*N${version}*R${binding}"
    private static let template = """
        {"name": "deploy", "data": "\(Self.form)", "operationType": "deploy",
         "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
         "formData": {"title": "Deploy", "message": "${fingerprint}", "attributes": [
           {"type": "KEY_VALUE", "id": "version", "label": "Version", "value": "${version}"}]}}
        """

    @Test(arguments: [false, true]) func bothChainsOfReceiptsAgree(_ isDocumentedOnly: Bool) async throws {
        let folder = try TemporaryFolder()
        var configuration = Emulator.Configuration()
        configuration.templates = [Self.template]
        configuration.protocolRules.documentedAnswersOnly = isDocumentedOnly
        try await withEmulator(configuration) { emulator in
            let store = ActivationStore.sqlite(path: folder.file("bot.sqlite"))
            let client = try emulator.makeClient {
                $0.clock = self.clock
                $0.transport = try self.traffic.transport()
                $0.store = store
            }
            var registrations: [String: String] = [:]
            for user in ["alice", "bob", "carol"] {
                let activation = try await emulator.makeActivation(user: user, password: password, client: client)
                registrations[user] = activation.activationID
            }
            // The policy sees what is signed, not what the asker says.
            let agent = ApprovalAgent(
                fleet: client.makeFleet(),
                factors: { try await $0.unlockKnowledge(password: password) },
                configuration: .patient
            ) { review in
                if review.operation.data.hasPrefix("A9*N1.") { return .approve }
                return review.operation.data.hasPrefix("A9*N2.") ? .reject(.unexpectedOperation) : .deferToPeople
            }
            let running = Task { try await agent.run() }
            let time = Task { await self.traffic.pass(self.clock) }

            var settings = ApprovalDesk.Configuration()
            settings.limits.questionInterval = .zero
            settings.limits.openQuestions = 100
            settings.limits.shortestPoll = .milliseconds(20)
            settings.limits.longestPoll = .milliseconds(100)
            settings.limits.requestsPerSecond = 1_000
            let desk = try await ApprovalDesk(
                audience: "both-halves",
                cloud: try CloudClient(
                    baseURL: emulator.cloudURL,
                    credentials: .init(user: emulator.cloudUser, password: emulator.cloudPassword)
                ),
                ledger: .sqlite(path: folder.path + "/desk/approvals.sqlite"),
                configuration: settings
            )
            let acts = Shared<[String]>([])
            let asked = registrations
            @Sendable func perform(_ id: String, _ version: String, _ approvers: Approvers) async -> ApprovalError.Code?
            {
                var request = ApprovalRequest(
                    id: id,
                    from: approvers,
                    template: ApprovalTemplate("deploy", signs: Self.form, operationType: "deploy"),
                    parameters: ["version": .ascii(version)],
                    action: .bytes(Array("\(id) \(version)".utf8)),
                    expires: Self.expiry
                )
                request.offlineRegistrations = isDocumentedOnly ? asked : [:]
                do {
                    try await desk.perform(request) { approval in
                        acts.update { $0.append(String(decoding: approval.action, as: UTF8.self)) }
                    }
                    return nil
                } catch { return (error as? ApprovalError)?.code }
            }
            #expect(await perform("one", "1.0", .user("alice")) == nil)
            #expect(await perform("two", "1.1", .all(of: ["alice", "bob"])) == nil)
            #expect(await perform("three", "2.0", .user("carol")) == .rejected)
            #expect(await perform("four", "1.2", .any(2, of: ["alice", "bob", "carol"])) == nil)
            // Nobody answers, and it is taken back.
            var request = ApprovalRequest(
                id: "five",
                from: .user("bob"),
                template: ApprovalTemplate("deploy", signs: Self.form, operationType: "deploy"),
                parameters: ["version": "3.0"],
                action: .bytes([]),
                expires: Self.expiry
            )
            request.offlineRegistrations = isDocumentedOnly ? asked : [:]
            try await desk.ask(request).withdraw(reason: "not needed")
            #expect(acts.value.sorted() == ["four 1.2", "one 1.0", "two 1.1"])

            // Receipts of the half that asked.
            let questions = ReceiptArchive(folder: folder.file("questions"))
            #expect(try await desk.exportReceipts(to: questions).entryCount == 5)
            #expect(try await desk.exportReceipts(to: questions).entryCount == 0)
            let verification = try await questions.verify()
            #expect(verification.isIntact)
            #expect(verification.counts.questions == 5)
            // And of the half that answered.
            await until { (try? await client.allReceipts().allSatisfy { $0.outcome?.isOpen == false }) == true }
            let decisions = ReceiptArchive(folder: folder.file("decisions"))
            try await decisions.export(from: client)
            let decided = try await decisions.receipts()

            let receipts = try await questions.questionReceipts()
            #expect(receipts.map(\.facts.state).sorted() == ["done", "done", "done", "rejected", "withdrawn"])
            // Every decision of the agent's is about something that was asked, and each is what the asker knows.
            var answers: [String: JSONValue] = [:]
            for answer in receipts.flatMap({ $0.personal?["answers"]?.array ?? [] }) {
                if let operation = answer["operation"]?.string { answers[operation] = answer }
            }
            let carriedOut = decided.filter { receipt in
                // A person who was not needed may have been told that it is canceled.
                if case .refused = receipt.outcome?.result { false } else { true }
            }
            #expect(carriedOut.count >= 6)
            for receipt in carriedOut {
                let answer = try #require(answers[receipt.intent.personalData?.operationID ?? ""])
                let isApproved = ["approved", "discounted"].contains(answer["answer"]?.string)
                // Of a "no" and of an approval that was not needed, the asker may not have heard.
                let isExpected =
                    receipt.intent.verdict == .reject ? !isApproved : isApproved || answer["surplus"]?.bool == true
                #expect(isExpected, "\(receipt)")
            }

            time.cancel()
            running.cancel()
            _ = await running.result
            await store.close()
        }
    }

    /// The one step that does not take the server's word: the agent signs with its device's own key, which the asker learned from the
    /// device itself.
    @Test(.wireFact("B14"), arguments: [ProtocolVersion.v3_3, .v4_0])
    func anApprovalIsSignedByTheDeviceItself(version: ProtocolVersion) async throws {
        let folder = try TemporaryFolder()
        try await withEmulator(altered(Emulator.Configuration()) { $0.templates = [Self.template] }) { emulator in
            let client = try emulator.makeClient {
                $0.clock = self.clock
                $0.version = version
                $0.suite = .p384
                $0.transport = try self.traffic.transport()
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let agent = ApprovalAgent(
                fleet: client.makeFleet(),
                factors: { try await $0.unlockKnowledge(password: password) },
                configuration: altered(ApprovalAgent.Configuration.patient) { $0.signsByDevice = true }
            ) { _ in .approve }
            let running = Task { try await agent.run() }
            let time = Task { await self.traffic.pass(self.clock) }
            var settings = ApprovalDesk.Configuration()
            settings.limits.shortestPoll = .milliseconds(20)
            settings.limits.longestPoll = .milliseconds(100)
            settings.limits.questionInterval = .zero
            let desk = try await ApprovalDesk(
                audience: "both-halves",
                cloud: emulator.cloud,
                ledger: .inMemory(),
                configuration: settings
            )
            func request(_ id: String, _ key: DeviceKey.PublicKey) -> ApprovalRequest {
                var request = ApprovalRequest(
                    id: id,
                    from: .user("alice"),
                    template: ApprovalTemplate("deploy", signs: Self.form, operationType: "deploy"),
                    parameters: ["version": "1.0"],
                    action: .bytes([1]),
                    expires: Self.expiry
                )
                request.deviceKeys = ["alice": [key]]
                return request
            }
            let key = try await activation.devicePublicKeys().ecdsa
            let evidence = try await desk.perform(request("one", key)) { $0.approvals.map(\.evidence) }
            #expect(evidence == [.deviceSignature])
            // Whoever made another device for alice at the server approves nothing.
            let stranger = try await emulator.makeActivation(user: "alice", password: password)
            let other = try await stranger.devicePublicKeys().ecdsa
            let error = await #expect(throws: ApprovalError.self) {
                try await desk.perform(request("two", other)) { _ in }
            }
            #expect(error?.code == .deviceNotAccepted)

            // Afterwards, the receipt is enough for a stranger who has the key.
            let questions = ReceiptArchive(folder: folder.file("questions"))
            try await desk.exportReceipts(to: questions)
            let receipt = try #require(try await questions.questionReceipts().first { $0.facts.state == "done" })
            let answer = try #require(receipt.personal?["answers"]?.array?.first)
            let token = try #require(answer["deviceSignature"]?.string)
            let payload = try #require(key.payload(ofWebSignature: token))
            #expect(try JSONValue(parsing: payload)["operationData"] == answer["data"])
            #expect(answer["deviceKey"]?.string == Data(key.der).base64EncodedString())

            time.cancel()
            running.cancel()
            _ = await running.result
        }
    }
}
