import Foundation
public import PowerAuth
import PowerAuthCrypto

/// The ledger of a desk: every question that was asked, and how far it came. It is what makes an approval be used once.
public struct ApprovalLedger: Sendable {
    package let driver: any LedgerDriver
    package let sealing: any SealingKeyProvider
    /// Keys of earlier times, with one of which the ledger may be sealed.
    package let earlier: [any SealingKeyProvider]

    package init(driver: any LedgerDriver, sealing: any SealingKeyProvider, earlier: [any SealingKeyProvider] = []) {
        self.driver = driver
        self.sealing = sealing
        self.earlier = earlier
    }

    /// Keeps the ledger in a SQLite file, which any number of processes of one machine may open. A change is on the disk when it counts.
    ///
    /// The file, and the folder it is in, must be their owner's alone (modes 0600 and 0700). What was asked is sealed; the state of each
    /// question can be read without the key. Beside the file lies a mark (`<path>-lease`), which tells that the file was put
    /// back or copied: leave both where they are. A ledger that went back is refused, until somebody says ``adopt(audience:)``.
    ///
    /// - Parameters:
    ///   - path: The file, which is made when it is missing.
    ///   - sealing: The source of the key; by default the file `<path>.key`.
    public static func sqlite(path: String, sealing: (any SealingKeyProvider)? = nil) -> Self {
        let files = StoreFiles(path: path)
        return Self(driver: SQLiteLedger(files), sealing: sealing ?? .file(files.database + ".key"))
    }

    /// Keeps the ledger in memory, for tests: with the process, all knowledge of what was done is gone.
    public static func inMemory() -> Self {
        let key = SecureRandom.secret(Sealing.keyByteCount)
        return Self(driver: MemoryLedger(), sealing: .closure { key })
    }

    /// Takes a ledger as it is, although it was put back, copied or moved.
    ///
    /// All its questions that are not final are `unknown` then, for somebody to settle. Questions that it has lost can be asked and approved once
    /// more: let the target refuse a second time, by ``Approval/idempotencyKey``. Stop every process that uses the ledger before.
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
