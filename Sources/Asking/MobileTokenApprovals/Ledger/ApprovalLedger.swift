public import PowerAuthClient
import PowerAuthCrypto

/// The ledger of a desk: all questions with their progress. It ensures that an approval is used only once.
public struct ApprovalLedger: Sendable {
    package let driver: any LedgerDriver
    package let sealing: any SealingKeyProvider
    /// Earlier keys, one of which may seal the ledger.
    package let earlier: [any SealingKeyProvider]

    package init(driver: any LedgerDriver, sealing: any SealingKeyProvider, earlier: [any SealingKeyProvider] = []) {
        self.driver = driver
        self.sealing = sealing
        self.earlier = earlier
    }

    /// Keeps the ledger in an SQLite file that any number of processes on one machine may open. Changes are durable before they
    /// take effect.
    ///
    /// The file and its folder must be accessible only to their owner (modes 0600 and 0700). Questions are sealed; their states
    /// are readable without the key. A mark beside the file (`<path>-lease`) detects a restored or copied file: leave both in
    /// place. A ledger that was rolled back is refused until you call ``adopt(audience:)``.
    ///
    /// - Parameters:
    ///   - path: The file, created if it is missing.
    ///   - sealing: The source of the key; by default the file `<path>.key`.
    public static func sqlite(path: String, sealing: (any SealingKeyProvider)? = nil) -> Self {
        let files = StoreFiles(path: path)
        return Self(driver: SQLiteLedger(files), sealing: sealing ?? .file(files.database + ".key"))
    }

    /// Keeps the ledger in memory, for tests: it is lost with the process.
    public static func inMemory() -> Self {
        let key = SecureRandom.secret(Sealing.keyByteCount)
        return Self(driver: MemoryLedger(), sealing: .closure { key })
    }

    /// Accepts a ledger that was restored, copied or moved.
    ///
    /// All its open questions become `unknown`, to be settled by a person. Questions missing from it can be asked and approved
    /// again, so let the target reject repetitions by ``ApprovalDesk/Approval/idempotencyKey``. First stop every process that uses the ledger.
    public func adopt(audience: String) async throws {
        do {
            try await self.driver.adopt(audience: Ledger.digest(ofAudience: audience))
        } catch let error as ApprovalError {
            throw error
        } catch {
            throw ApprovalError(.ledgerFailed, "The ledger cannot be read or written: \(error)", underlying: error)
        }
    }
}
