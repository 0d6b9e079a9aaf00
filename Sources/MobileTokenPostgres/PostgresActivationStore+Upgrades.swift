import PostgresDatabase
import PowerAuth
public import PowerAuthProtocol

// What nodes must know of each other before an activation is stored in a form that is newer than the one before.
extension PostgresActivationStore {
    /// Returns whether an activation is being upgraded, by this node or another one: as it was a second ago at most.
    ///
    /// A node that begins an upgrade waits for that long, and so does ``update(_:_:)``.
    public func isUpgrading(_ activationID: String) async throws -> Bool {
        _ = try await self.opened()
        return try await self.upgrades.contains(activationID) {
            let mark = SealedActivation.upgradeMark
            return try await self.withConnection(isCancelable: true) { connection in
                Set(
                    try connection.run(
                        """
                        SELECT activation_id FROM activation JOIN field USING (slot)
                        WHERE name = '\(mark.name)' AND value = $1
                        """,
                        [.bytes(mark.bytes)],
                        .none
                    ).map { try $0.text(0) }
                )
            }
        }
    }

    /// Shows that every node which is alive could read an activation of a version of the protocol.
    ///
    /// - Throws: `storeHasOlderNodes`.
    public func checkReaders(of version: ProtocolVersion) async throws {
        _ = try await self.opened()
        try await self.checkReaders(of: RecordFormat(of: version))
    }

    /// Tells why a change was not written, if nodes that could not read it were the reason.
    func checkReaders(of change: ActivationChange, insteadOf stored: StoredActivation) async throws {
        guard let format = change.format, format > stored.format else { return }
        try await self.checkReaders(of: format)
    }

    private func checkReaders(of format: RecordFormat) async throws {
        let older = try await self.withConnection { connection in
            try connection.run(OlderNodes.query("$1", columns: "name"), [.integer(format.rawValue)], .none)
                .map { try $0.text(0) }
        }
        guard older.isEmpty else {
            throw MobileTokenError(
                .storeHasOlderNodes,
                "Nodes of an older program could not read the activation: \(older.joined(separator: ", "))"
            )
        }
    }
}

/// The nodes that are alive, and could not read a form of activations.
enum OlderNodes {
    /// - Parameter format: The place of the form's number in the statement.
    static func query(_ format: String, columns: String = "") -> String {
        "SELECT \(columns) FROM node WHERE newest_format < \(format) AND expires_at > clock_timestamp()"
    }
}
