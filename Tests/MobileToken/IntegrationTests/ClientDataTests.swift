import ExactJSON
import Foundation
import MobileToken
import MobileTokenScreens
import MobileTokenTesting
import TestSupport
import Testing
import WireFacts

/// The data that the client sends beside its decisions, and the server's data about a block, over real sockets.
@Suite(.timeLimit(.minutes(5))) struct ClientDataTests {
    @Test(arguments: [true, false])
    func theScreensBeforeADecisionReachTheServer(approves: Bool) async throws {
        try await withEmulator { emulator in
            // The stamps follow the server's clock and not this machine's.
            await emulator.clock.freeze(at: Date(timeIntervalSince1970: 1_900_000_000))
            let client = try emulator.makeClient()
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let service = client.makeOperationsService(for: activation)
            let made = try await emulator.cloud.createOperation(
                "login_preApproval",
                userID: "alice",
                demandsProximityCheck: true
            )
            let code = try #require(made.proximityCode)
            var operation = try #require(try await service.operations().first { $0.id == made.id })
            let screens = try #require(operation.ui?.preApprovalScreens)
            #expect(screens.compactMap(\.id) == ["qr", "intro-warning"])
            #expect(
                screens.last?.elements.first?.content
                    == .listItem(text: "Check the address of the page", style: .danger)
            )
            var recorder = MobileTokenData.PreApprovalRecorder(client)
            for id in screens.compactMap(\.id) {
                recorder.open(id)
                recorder.close(id, with: id == "qr" ? .scan : approves ? .continue : .reject)
            }
            var data = MobileTokenData(["deviceFingerprint": "abc"])
            data.record(recorder)
            operation.mobileTokenData = data.members
            if approves {
                let now = await emulator.clock.now
                operation.proximityCheck = UserOperation.ProximityCheck(totp: code, source: .qrCode, received: now)
                try await service.authorize(operation, with: .twoFactors)
            } else {
                try await service.reject(operation, reason: .preApproval)
            }
            let received = try #require(
                try await emulator.cloud.operation(made.id).additionalData?["mobileTokenData"]
            )
            #expect(received == .object(data.members))
            let visits = try #require(received["preApprovalScreens"]?.array)
            #expect(visits.compactMap { $0["action"]?.string } == ["SCAN", approves ? "CONTINUE" : "REJECT"])
            #expect(visits.allSatisfy { $0["timestampOpened"]?.string?.hasPrefix("2030-03-17T17:") == true })
        }
    }

    @Test(.wireFact("2.6")) func aBlockThatEndsByItselfSaysWhen() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.limits.temporaryBlock = 300 }) { emulator in
            let start = Date(timeIntervalSince1970: 1_900_000_000)
            await emulator.clock.freeze(at: start)
            let client = try emulator.makeClient {
                $0.version = .v4_0
                $0.suite = .p384
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            func fail() async throws -> MobileTokenError.Code? {
                try await errorCode { try await activation.validate(.possessionAndKnowledge(password: "wrong")) }
            }
            for _ in 1...5 { _ = try await fail() }
            var status = try await activation.status()
            #expect(status.state == .blocked && status.failedAttempts == 5)
            #expect(status.blockedUntil == start + 300)
            let error = try await #require(throws: MobileTokenError.self) { try await activation.validate(.twoFactors) }
            #expect(error.code == .activationBlocked && error.message.hasSuffix("until 2030-03-17T17:51:40Z"))

            // One attempt is free; when it fails, the next block lasts twice as long.
            await emulator.clock.freeze(at: start + 300)
            status = try await activation.status()
            #expect(status.state == .active && status.remainingAttempts == 1 && status.blockedUntil == nil)
            _ = try await fail()
            #expect(try await activation.status().blockedUntil == start + 900)
            await emulator.clock.freeze(at: start + 900)
            try await activation.validate(.twoFactors)
            status = try await activation.status()
            #expect(status.failedAttempts == 0 && status.remainingAttempts == 5)

            // A success makes the next block a short one again.
            for _ in 1...5 { _ = try await fail() }
            #expect(try await activation.status().blockedUntil == start + 1200)
            try await emulator.unblockActivation(activation.activationID)
            #expect(try await activation.status().remainingAttempts == 5)
        }
    }

    @Test func anActivationGoesWithOneFactorWhereTheServerLetsIt() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient {
                $0.version = .v4_0
                $0.suite = .p384
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let error = try await #require(throws: MobileTokenError.self) {
                try await activation.remove(authenticatedBy: .possession)
            }
            #expect(error.code == .refusalUnproven && error.serverCode == "ERR_AUTHENTICATION")
            // Nothing was counted, and nothing was forgotten here.
            #expect(try await activation.status().state == .active)
            var rules = await emulator.protocolRules()
            rules.allowsRemovalByPossession = true
            try await emulator.setProtocolRules(rules)
            try await activation.remove(authenticatedBy: .possession)
            #expect(await emulator.summary(of: activation)?.status == .removed)
            #expect(try await client.activationIDs().isEmpty)
        }
    }

    @Test(.wireFact("2.6")) func anActivationOfVersion3IsBlockedForGood() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.limits.temporaryBlock = 1 }) { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: password)
            for _ in 1...5 {
                _ = try await errorCode { try await activation.validate(.possessionAndKnowledge(password: "wrong")) }
            }
            await emulator.clock.advance(by: .seconds(1000))
            let status = try await activation.status()
            #expect(status.state == .blocked && status.blockedUntil == nil)
        }
    }
}
