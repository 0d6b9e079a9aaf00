import ExactJSON
public import Foundation
import Glibc
import MobileTokenApprovals

/// The place that a deployment goes to. Whoever has one can deploy: it is the credential, and the gate alone holds it.
public protocol DeploymentTarget: Sendable {
    /// Applies what was approved.
    ///
    /// - Parameters:
    ///   - action: The bytes that were approved.
    ///   - key: The name of this one act: the target refuses a second one of the same name.
    ///   - notAfter: The time after which the action must not be applied any more.
    func apply(_ action: [UInt8], key: String, notAfter: Date) async throws
}

/// A folder that only the gate can write to, with the manifest of each service.
public struct FolderTarget: DeploymentTarget {
    private let folder: String

    /// Names the folder, which must be there.
    public init(folder: String) { self.folder = folder }

    /// Writes the manifest, unless it is too late or was done before.
    public func apply(_ action: [UInt8], key: String, notAfter: Date) throws {
        guard Date() <= notAfter else { throw GateError("the approval is too old to be used") }
        let deployment = try Deployment(JSONValue(parsing: action))
        // The name of the act is taken first, by one system call: of two calls, one gets it.
        let descriptor = open("\(self.folder)/.\(key)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw GateError(errno == EEXIST ? "it was deployed before" : "the folder cannot be written")
        }
        close(descriptor)
        let file = URL(filePath: "\(self.folder)/\(deployment.service).manifest")
        try Data(deployment.manifest.utf8).write(to: file, options: .atomic)
    }
}
