import DeploymentGate
import Foundation
import MobileTokenApprovals
import MobileTokenTesting

/// A desk whose people do as a script says, and a folder that is deployed to.
struct Stage {
    static let deployment: Deployment = {
        do { return try Deployment(service: "billing", version: "4.2.1", manifest: "replicas: 2\n") } catch {
            preconditionFailure("\(error)")
        }
    }()

    let desk: ApprovalDesk
    let target: FolderTarget
    let clock = ManualClock()
    private let folder: Folder

    init(_ people: [String: ScriptedApprover]) async throws {
        self.folder = try Folder()
        self.target = FolderTarget(folder: self.folder.path)
        self.desk = try await ApprovalDesk.scripted(people, clock: self.clock)
    }

    /// The manifest that was deployed.
    var deployed: String? { try? String(contentsOfFile: self.folder.path + "/billing.manifest", encoding: .utf8) }

    /// Runs `body` while time passes as fast as there is something to wait for.
    func passing<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        async let _ = self.clock.runFreely()
        return try await body()
    }

    /// Runs `body` the same way, and returns the code of the error that it throws.
    func code(_ body: () async throws -> Void) async -> ApprovalError.Code? {
        do {
            try await self.passing(body)
            return nil
        } catch { return (error as? ApprovalError)?.code ?? .failed }
    }
}

/// A folder that goes with its owner.
final class Folder: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "deployment-gate-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }
}
