import Basics
import CommandLineSupport
import Foundation
import HTTPClientTransport
import MobileTokenApprovals
import MobileTokenCloud

/// A requester's profile: its settings, and its ledger.
struct AskPlace: Sendable {
    let settings: AskSettings
    /// The unopened ledger.
    let ledger: ApprovalLedger
    /// The variables with the ledger's secrets, which a command does not inherit.
    let secretVariables: Set<String>

    /// Options only for `ask configure`: elsewhere they would have no effect.
    private static let configured = [
        "url", "powerauth-url", "sdk-configuration", "proxy", "ca-file", "pin", "sealing-key",
    ]

    init(_ invocation: Invocation, _ openers: [LedgerOpener]) throws {
        for option in Self.configured where invocation[option] != nil {
            throw invocation.misuse("--\(option) has no effect here; see 'ask configure'")
        }
        for flag in ["insecure", "insecure-http"] where invocation.has(flag) {
            throw invocation.misuse("--\(flag) has no effect here")
        }
        let folder = try ProfileHome(invocation).profile(invocation)
        self.settings = try AskSettings.existing(folder)
        let key = try self.settings.sealingKey.map { try SealingKeySource($0) }
        let place = try LedgerPlace(self.settings.ledger ?? "sqlite:\(folder.ledger)")
        (self.ledger, self.secretVariables) = try place.ledger(sealedBy: key, openers, invocation)
    }

    /// Returns the secrets that a command must not receive.
    func secrets(_ invocation: Invocation) -> Withheld {
        Withheld(
            variables: CloudAccess.variables.union(self.secretVariables),
            files: Self.secretFiles(invocation, self.settings)
        )
    }

    private static func secretFiles(_ invocation: Invocation, _ settings: AskSettings?) -> [String] {
        let key = settings?.sealingKey.flatMap { ExactString($0).dropping(prefix: "file:")?.string }
        return [CloudAccess.file(invocation, settings), key].compactMap(\.self)
    }

    /// Returns the files that a call reads and writes, as far as known before its arguments are checked.
    static func files(_ invocation: Invocation) -> [String] {
        let folder = try? ProfileHome(invocation).profile(invocation)
        let settings = folder.flatMap { try? AskSettings.load($0) }
        let ledger = settings?.ledger.flatMap { ExactString($0).dropping(prefix: "sqlite:")?.string } ?? folder?.ledger
        return Binding.files(invocation.all("bind")) + Binding.files(invocation.all("device-key"), behind: "=")
            + self.secretFiles(invocation, settings)
            + [folder?.askingFile.path, settings?.cloud.caFile].compactMap(\.self)
            + ["", ".key", "-lease", "-wal", "-shm", "-journal"].compactMap { suffix in ledger.map { $0 + suffix } }
    }

    /// Returns a desk without a server, for commands that only read or settle the ledger.
    func deskWithoutServer() async throws -> ApprovalDesk {
        try await ApprovalDesk(
            audience: self.settings.audience,
            cloud: CloudClient(inProcess: NoServer()),
            ledger: self.ledger
        )
    }
}

/// The server of a desk that needs none.
private struct NoServer: HTTPTransport {
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        throw HTTPTransportError(.connectionFailed, detail: "there is no server here")
    }
}
