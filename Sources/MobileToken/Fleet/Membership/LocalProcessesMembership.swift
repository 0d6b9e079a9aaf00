import Basics
import Coordination
public import PowerAuth
import Synchronization

/// Divides the activations of an SQLite store among the processes of one machine that work with it.
///
/// ```swift
/// let store = ActivationStore.sqlite()
/// var configuration = OperationsFleet.Configuration()
/// configuration.membership = LocalProcessesMembership(store: store)
/// ```
///
/// There are 64 buckets, and a lock for each in the file `<database>-fleet`. A process takes its fair share of them, looks
/// every second how many processes are alive, and gives back what is more than that. The kernel frees the locks of a process
/// at the moment it dies, and the others take them over. A process that is frozen (`SIGSTOP`, a debugger) keeps its buckets,
/// and nobody polls them until it goes on or is killed.
///
/// Up to 256 processes can take part; those beyond 64 find nothing to poll, and stand by.
public final class LocalProcessesMembership: FleetMembership {
    /// The number of buckets, 64: so many processes at most have a share of the polls.
    public let bucketCount = OperationsFleet.Buckets.count
    /// The file with the locks.
    public let path: String

    /// The offset of the byte by whose lock the others count a process.
    private static let processSlots: Range<Int64> = 1024..<1280
    private static let interval = Duration.seconds(1)

    private let clock: ServiceClock
    private let random: @Sendable () -> Int
    private let held = Mutex<Set<Int>>([])

    /// Creates the membership of this process. Nothing is opened before the fleet runs.
    ///
    /// - Parameters:
    ///   - store: The store that the processes share.
    ///   - clock: Paces looking for other processes.
    public convenience init(store: ActivationStore, clock: any Clock<Duration> = ContinuousClock()) {
        self.init(path: store.name + "-fleet", clock: clock, random: { .random(in: 0..<OperationsFleet.Buckets.count) })
    }

    package init(path: String, clock: any Clock<Duration>, random: @escaping @Sendable () -> Int) {
        self.path = path
        self.clock = ServiceClock(clock)
        self.random = random
    }

    /// Returns whether this process has locked a bucket.
    public func holds(_ bucket: Int) -> Bool { self.held.withLock { $0.contains(bucket) } }

    /// Takes buckets and gives them back until the calling task is canceled.
    ///
    /// - Throws: `MobileTokenError` when the file cannot be used, or all slots are taken.
    public func run(assign: @escaping @Sendable (OperationsFleet.Assignment) async -> Void) async throws {
        let file = try LockFile(creating: self.path)  // what it holds is free when it is let go
        let slot = try Self.takeSlot(in: file)
        var share = BucketShare(count: self.bucketCount, startingAt: self.random())
        var last: OperationsFleet.Assignment?
        do {
            repeat {
                let count = try Self.processCount(in: file, besides: slot)
                await self.giveBack(share.surplus(among: count), of: &share, in: file, count, assign)
                try self.takeMissing(of: &share, in: file, count)
                let assignment = OperationsFleet.Assignment(buckets: share.owned, processCount: count)
                if assignment != last { await assign(assignment) }
                last = assignment
            } while (try? await self.clock.sleep(until: self.clock.now + Self.interval)) != nil
        } catch {
            await self.giveBack(Array(share.owned), of: &share, in: file, 1, assign)
            throw error
        }
        await self.giveBack(Array(share.owned), of: &share, in: file, 1, assign)
    }

    private static func takeSlot(in file: LockFile) throws -> Int64 {
        for slot in self.processSlots where try file.tryLock(slot) { return slot }
        throw MobileTokenError(.invalidConfiguration, "More than \(self.processSlots.count) processes share the store")
    }

    private static func processCount(in file: LockFile, besides slot: Int64) throws -> Int {
        // One by one, for the kernel names any lock of a range that it likes.
        1 + (try self.processSlots.count { try $0 != slot && file.lockOfAnother(in: $0..<($0 + 1)) != nil })
    }

    /// Others may take a bucket only when nothing is decided on it here any more.
    private func giveBack(
        _ buckets: [Int],
        of share: inout BucketShare,
        in file: LockFile,
        _ processCount: Int,
        _ assign: (OperationsFleet.Assignment) async -> Void
    ) async {
        guard !buckets.isEmpty else { return }
        for bucket in buckets { share.remove(bucket) }
        self.held.withLock { [owned = share.owned] in $0 = owned }
        await assign(OperationsFleet.Assignment(buckets: share.owned, processCount: processCount))
        for bucket in buckets { file.unlock(Int64(bucket)) }
    }

    private func takeMissing(of share: inout BucketShare, in file: LockFile, _ processCount: Int) throws {
        for bucket in share.candidates(among: processCount) where share.missing(among: processCount) > 0 {
            if try file.tryLock(Int64(bucket)) { share.add(bucket) }
        }
        self.held.withLock { [owned = share.owned] in $0 = owned }
    }
}
