import Coordination
import PowerAuthCrypto

/// Keeps activations in memory: for tests, and for programs that activate anew at every start.
///
/// Secrets are sealed there too, with a key of the process, so that no copy of them lies open.
///
/// Of the receipts of decisions it keeps the latest ten thousand entries at least, and forgets the oldest beyond twice that.
public final class InMemoryActivationStore: PrunableJournal, JournalBacked {
    package let journal: Journal
    private let driver: MemoryDriver

    /// Creates an empty store.
    public init() {
        let driver = MemoryDriver()
        let key = SecureRandom.secret(Sealing.keyByteCount)
        self.driver = driver
        self.journal = Journal(driver, name: "memory", keys: SealingKeys(current: .closure { key }))
    }

    /// The order of signatures.
    var gate: Gate { self.driver.gate }
}
