import Foundation
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// Processes that `kill -9` ends in the middle of an upgrade, a confirmation or a change of password, and their successors.
///
/// `POWERAUTH_TEST_SEED` repeats a run, but for the scheduling of the machine; `KILLED_PROCESSES` makes it shorter or longer.
@Suite(.timeLimit(.minutes(30))) struct Version4KillTests {
    private static let killCount = ProcessInfo.processInfo.environment["KILLED_PROCESSES"].flatMap { Int($0) } ?? 40
    private static let newPassword = "another horse"

    private enum Change: String, CaseIterable {
        case activate, upgrade
        case changePassword = "change-password"
    }

    private enum Death {
        /// So many microseconds after it began.
        case later(Int)
        /// Around its request of this number.
        case before(request: Int)
        case after(request: Int)

        static func random(using random: inout SeededGenerator) -> Self {
            let request = Int.random(in: 0..<9, using: &random)
            return switch Int.random(in: 0..<4, using: &random) {
            case 0: .before(request: request)
            case 1: .after(request: request)
            default: .later(Int.random(in: 0..<60_000, using: &random))
            }
        }

        var settings: [String] {
            switch self {
            case .later(let microseconds): ["die-after=\(microseconds)"]
            // One that needs fewer requests than that ends by time.
            case .before(let request): ["dies-at=", "dies=before", "survives=\(request)", "die-after=2000000"]
            case .after(let request): ["dies-at=", "dies=after", "survives=\(request)", "die-after=2000000"]
            }
        }
    }

    @Test func whateverAKilledProcessLeavesGoesOn() async throws {
        var random = SeededGenerator()
        try await withEmulator { emulator in
            var rules = await emulator.protocolRules()
            rules.upgradeOffers = [emulator.applicationID]
            try await emulator.setProtocolRules(rules)
            let folder = try TemporaryFolder()
            var ends: [String: Int] = [:]
            for number in 0..<Self.killCount {
                let change = Change.allCases[number % Change.allCases.count]
                let death = Death.random(using: &random)
                let victim = try await Victim(emulator, folder.file("\(number).sqlite"), of: change)
                let outcome = try await victim.run(death.settings)
                #expect(outcome.wasKilled, "\(number): \(outcome.output)\(outcome.errors)")
                #expect(
                    outcome.lines.allSatisfy { $0 == "changed" },
                    "\(number): a process failed before it was killed"
                )
                let end = try await victim.recover()
                ends["\(change.rawValue): \(end)", default: 0] += 1
            }
            for (end, count) in ends.sorted(by: { $0.key < $1.key }) { print("killed in \(end): \(count)") }
        }
    }

    private struct Victim {
        private let emulator: Emulator
        private let path: String
        private let change: Change
        /// The code that the process activates with.
        private let registration: CloudClient.ActivationOffer?
        private let record: ActivationRecord?

        init(_ emulator: Emulator, _ path: String, of change: Change) async throws {
            self.emulator = emulator
            self.path = path
            self.change = change
            guard change != .activate else {
                self.registration = try await emulator.cloud.register(userID: "alice", protocolVersion: "4.0").value
                self.record = nil
                return
            }
            let store = ActivationStore.sqlite(path: path)
            let client = try Self.client(emulator, store, change == .upgrade ? .v3_3 : .v4_0)
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            // A token of the version before.
            _ = try await client.makeOperationsService(for: activation).operations()
            self.registration = nil
            self.record = try await store.record(of: activation.activationID)
            await store.close()
        }

        private static func client(
            _ emulator: Emulator,
            _ store: ActivationStore,
            _ version: ProtocolVersion
        ) throws -> MobileTokenClient {
            try emulator.makeClient {
                $0.store = store
                $0.version = version
                $0.suite = .p384
            }
        }

        func run(_ settings: [String]) async throws -> ChildProcess.Outcome {
            await
                (try ChildProcess(
                    ChildProcess.besideTests("StoreExerciser"),
                    [
                        "action=\(self.change.rawValue)", "version=\(self.change == .upgrade ? "3.3" : "4.0")",
                        "store=\(self.path)", "activation=\(self.record?.activationID ?? "")",
                        "code=\(self.registration?.activationQRCode ?? "")", "password=\(password)",
                        "new-password=\(Version4KillTests.newPassword)", "url=\(self.emulator.baseURL)",
                        "sdk-configuration=\(self.emulator.sdkConfiguration)",
                    ] + settings
                )).outcome()
        }

        /// Goes on as the next process would, and expects both sides to agree.
        ///
        /// - Returns: The point that the killed process had reached.
        func recover() async throws -> String {
            let store = ActivationStore.sqlite(path: self.path)
            let client = try Self.client(self.emulator, store, .v3_3)
            guard let id = try await store.activationIDs().first else {
                await store.close()
                return "nothing stored"
            }
            let left = try #require(try await store.record(of: id))
            let activation = try await client.activation(id: id)
            let (end, current) = try await self.goOn(with: activation, left)
            let factors = Activation.Authentication.possessionAndKnowledge(password: current)
            // A poll comes first: what runs at a server most of the time.
            let made = try await self.emulator.cloud.createOperation("login", userID: "alice")
            let operations = client.makeOperationsService(for: activation)
            let operation = try #require(try await operations.operations().first { $0.id == made.id })
            try await operations.authorize(operation, with: factors)
            let status = try await activation.status()
            #expect(status.state == .active)
            #expect(status.flags == [], "\(end)")
            #expect(status.counter.distance == 0, "\(end)")
            #expect(status.failedAttempts == 0, "\(end)")
            #expect(try await !store.isUpgrading(id))
            try await activation.remove(authenticatedBy: factors)
            await store.close()
            return end
        }

        private func goOn(
            with activation: Activation,
            _ left: ActivationRecord
        ) async throws -> (end: String, password: String) {
            let isUpgrading = left.isUpgrading
            switch self.change {
            case .activate:
                try await activation.confirm(password: SecretBytes(utf8: password))
                if let registration = self.registration {
                    try await self.emulator.cloud.commitRegistration(registration.id)
                }
                return (
                    "stored, confirmation \(left.version4?.pendingConfirmation == nil ? "known" : "open")", password
                )
            case .upgrade:
                let end = "version \(left.version.rawValue), \(isUpgrading ? "upgrading" : "at rest")"
                // Half of the successors poll before they upgrade.
                if left.counterMoves.isMultiple(of: 2) {
                    try await activation.upgrade(password: SecretBytes(utf8: password))
                }
                return (end, password)
            case .changePassword where left.version4?.otherKnowledgeKey != nil:
                // Agreed on and not proved: as a person would, who does not know which of the two it is by now.
                do {
                    try await activation.validate(
                        .possessionAndKnowledge(password: SecretBytes(utf8: Version4KillTests.newPassword))
                    )
                    return ("two passwords, of which the new one works", Version4KillTests.newPassword)
                } catch let error as MobileTokenError where error.code == .authenticationFailed {
                    return ("two passwords, of which the old one works", password)
                }
            case .changePassword:
                let isOld = left.version4?.knowledgeKey == self.record?.version4?.knowledgeKey
                return (isOld ? "old password" : "new password", isOld ? password : Version4KillTests.newPassword)
            }
        }
    }
}
