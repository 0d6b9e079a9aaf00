import DeploymentGate
import ExactJSON
import Foundation
import MobileTokenApprovals
import MobileTokenTesting
import Testing

/// Two of three people, at the development server's backend, where their devices sign as phones do.
@Suite(.timeLimit(.minutes(2))) struct GateTests {
    private static let team: [Approvers.Person] = ["alice", "bob", "carol"]

    /// Lets a gate deploy, in test time, and returns what the target got and why it did not.
    private func deploy(
        _ people: [String: ScriptedApprover],
        requestedBy requester: Approvers.Person = "mallory",
        team: [Approvers.Person] = GateTests.team
    ) async throws -> (deployed: String?, refused: ApprovalError.Code?) {
        let stage = try await Stage(people)
        let gate = DeploymentGate(desk: stage.desk, team: team, target: stage.target)
        let code = await stage.code {
            try await gate.deploy(Stage.deployment, id: "deploy-1", requestedBy: requester)
        }
        return (stage.deployed, code)
    }

    @Test func twoOfThreeDeploy() async throws {
        let end = try await self.deploy(["alice": .approves(after: .seconds(3)), "bob": .silent, "carol": .approves()])
        #expect(end.deployed == "replicas: 2\n" && end.refused == nil)
    }

    @Test func oneIsNotEnough() async throws {
        let end = try await self.deploy(["alice": .approves(), "bob": .silent, "carol": .silent])
        #expect(end.deployed == nil && end.refused == .expired)
    }

    @Test func oneRejectionEndsIt() async throws {
        let people: [String: ScriptedApprover] = [
            "alice": .rejects("not on a Friday"), "bob": .approves(after: .seconds(20)),
            "carol": .approves(after: .seconds(20)),
        ]
        let end = try await self.deploy(people)
        #expect(end.deployed == nil && end.refused == .rejected)
    }

    @Test func theRequesterDoesNotCount() async throws {
        let people: [String: ScriptedApprover] = ["alice": .approves(), "bob": .approves(), "carol": .silent]
        // Whatever the case in which the name is given.
        let end = try await self.deploy(people, requestedBy: "ALICE")
        #expect(end.deployed == nil && end.refused == .expired)
        let both = try await self.deploy(["bob": .approves(), "carol": .approves()], requestedBy: "alice")
        #expect(both.deployed == "replicas: 2\n")
    }

    @Test func aTeamOfTooFewIsNotAsked() async throws {
        let end = try await self.deploy(["bob": .approves()], requestedBy: "alice", team: ["alice", "bob"])
        #expect(end.deployed == nil && end.refused == .invalidRequest)
    }

    @Test func otherDataThanWereAskedForDeployNothing() async throws {
        let people: [String: ScriptedApprover] = [
            "alice": .approves(data: "A9*Tbilling*N4.2.1*Rother"), "bob": .approves(), "carol": .silent,
        ]
        let end = try await self.deploy(people)
        #expect(end.deployed == nil && end.refused == .bindingMismatch)
    }

    @Test func aDeploymentIsAskedAndDoneOnce() async throws {
        let stage = try await Stage(["alice": .approves(), "bob": .approves(), "carol": .silent])
        let gate = DeploymentGate(desk: stage.desk, team: Self.team, target: stage.target)
        let deploy = { try await gate.deploy(Stage.deployment, id: "deploy-1", requestedBy: "mallory") }
        #expect(await stage.code(deploy) == nil)
        #expect(await stage.code(deploy) == .alreadyPerformed)
        let other = try Deployment(service: "billing", version: "4.2.2", manifest: "replicas: 3\n")
        let code = await stage.code { try await gate.deploy(other, id: "deploy-1", requestedBy: "mallory") }
        #expect(code == .alreadyAsked && stage.deployed == "replicas: 2\n")
    }

    /// The target refuses by itself, should another ledger ask for the same.
    @Test func theTargetRefusesASecondTimeAndALateOne() throws {
        let folder = try Folder()
        let target = FolderTarget(folder: folder.path)
        let action = Array(Stage.deployment.json.serialized())
        #expect(throws: GateError.self) { try target.apply(action, key: "k", notAfter: .distantPast) }
        try target.apply(action, key: "k", notAfter: .distantFuture)
        #expect(throws: GateError.self) { try target.apply(action, key: "k", notAfter: .distantFuture) }
    }

    @Test(arguments: ["../billing", "b\u{456}lling", "", "-billing", "a/b"])
    func aServiceThatDeceivesIsNone(service: String) {
        #expect(throws: GateError.self) { try Deployment(service: service, version: "1", manifest: "") }
    }
}
