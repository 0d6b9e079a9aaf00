import Foundation
import StoreTesting
import TestSupport
import Testing

import PowerAuth
@testable import PowerAuthClient

/// Power fails at every moment of a recorded run, and takes with it what was not synchronised.
@Suite(.timeLimit(.minutes(5)))
struct PowerLossTests {
    /// Records a store at work: enough changes that the log is moved into the database several times.
    private func record(synchronous: String? = nil) async throws -> (
        folder: TemporaryFolder, events: [RecordingVFS.Event]
    ) {
        let folder = try TemporaryFolder()
        let path = folder.file("store.sqlite")
        RecordingVFS.record(path)
        var options = SQLiteOptions()
        options.vfs = RecordingVFS.name
        if let synchronous { options.synchronous = synchronous }
        options.checkpointPages = 6
        let store = ActivationStore.sqlite(path: path, sealingKey: nil, options: options)
        try await store.insert(ActivationStoreConformance.sparseRecord("a"))
        RecordingVFS.note(0, for: path)
        for change in 0..<40 {
            let intent = ActivationStoreConformance.intent("a", [Self.demand])
            let move = try await store.update("a", recording: intent) { record in
                if change.isMultiple(of: 7) { record.name = String(repeating: "long name ", count: change * 20) }
                return record.takeMove()
            }
            RecordingVFS.note(move + 1, for: path)
        }
        let events = RecordingVFS.events(of: path)
        let moved = events.filter { if case .write(path, _, _) = $0 { true } else { false } }
        #expect(moved.count > 20, "the log was hardly ever moved into the database")
        return (folder, events)
    }

    /// Opens what the disk held when power failed, and returns the count of moves; `nil` when there is no activation.
    private func movesAfterRestart(_ disk: SimulatedDisk, keyFrom folder: TemporaryFolder) async throws -> UInt64? {
        let restarted = try TemporaryFolder()
        for (path, bytes) in disk.files {
            let name = URL(fileURLWithPath: path).lastPathComponent
            _ = FileManager.default.createFile(
                atPath: restarted.file(name),
                contents: Data(bytes),
                attributes: [.posixPermissions: 0o600]
            )
        }
        let store = ActivationStore.sqlite(
            path: restarted.file("store.sqlite"),
            sealingKey: .file(folder.file("store.sqlite.key"))
        )
        let moves = try await store.record(of: "a")?.history.moves
        let checks = LimitCharges([Self.demand], at: ActivationStoreConformance.limitDate, isAutomatic: true).checks
        #expect(try await store.limitUse(checks).used == [Int64(moves ?? 0)], "a decision is not charged, or none is")
        return moves
    }

    /// Each move is charged, in its own transaction.
    private static let demand = ActivationStoreConformance.demand(99)

    /// The worst that any moment did: how many moves that callers had been told of were missing.
    private func greatestLoss(
        in events: [RecordingVFS.Event],
        keyFrom folder: TemporaryFolder,
        keeping survival: SimulatedDisk.Survival
    ) async throws -> Int64 {
        var disk = SimulatedDisk(survival: survival)
        var promised: UInt64?
        var found: UInt64?
        var greatest: Int64 = 0
        for event in events {
            disk.apply(event)
            if case .note(let moves) = event { promised = moves }
            guard let promised else { continue }
            if disk.hasChangedSinceLastLook() { found = try await self.movesAfterRestart(disk, keyFrom: folder) }
            // An activation that is not there has lost more than all its moves.
            greatest = max(greatest, Int64(promised) - (found.map(Int64.init) ?? -1))
        }
        return greatest
    }

    @Test(arguments: SimulatedDisk.Survival.allCases)
    func noMoveThatWasReportedIsEverLost(survival: SimulatedDisk.Survival) async throws {
        let (folder, events) = try await self.record()
        #expect(try await self.greatestLoss(in: events, keyFrom: folder, keeping: survival) == 0)
    }

    /// The model itself: without a synchronisation for each commit, it must show the loss.
    @Test func theModelNoticesCommitsThatAreNotSynchronised() async throws {
        let (folder, events) = try await self.record(synchronous: "NORMAL")
        #expect(try await self.greatestLoss(in: events, keyFrom: folder, keeping: .nothingUnsynchronised) > 0)
    }
}

/// The content of a disk after power fails: all that was synchronised, and of the rest what chance left.
struct SimulatedDisk {
    /// The part that remains of the writes after a file's last synchronisation.
    enum Survival: CaseIterable {
        case nothingUnsynchronised
        /// Every second one, beginning with the last: disks write in the order they like.
        case everySecondWrite
        /// The first half of each, in whole sectors.
        case tornWrites
    }

    private struct File {
        var durable: [UInt8] = []
        var pending: [RecordingVFS.Event] = []
    }

    private let survival: Survival
    private var contents: [String: File] = [:]
    private var latestLook: [String: [UInt8]] = [:]

    init(survival: Survival) { self.survival = survival }

    mutating func apply(_ event: RecordingVFS.Event) {
        switch event {
        case .write(let path, _, _), .truncate(let path, _):
            self.contents[path, default: File()].pending.append(event)
        case .synchronize(let path):
            var file = self.contents[path] ?? File()
            for event in file.pending { Self.perform(event, on: &file.durable) }
            file.pending = []
            self.contents[path] = file
        case .delete(let path):
            self.contents[path] = nil
        case .note:
            break
        }
    }

    /// The files as they are found after the restart.
    var files: [String: [UInt8]] {
        self.contents.mapValues { file in
            var bytes = file.durable
            for (index, event) in file.pending.reversed().enumerated().reversed() {
                switch self.survival {
                case .nothingUnsynchronised: break
                case .everySecondWrite: if index.isMultiple(of: 2) { Self.perform(event, on: &bytes) }
                case .tornWrites: Self.perform(event.torn, on: &bytes)
                }
            }
            return bytes
        }
    }

    /// Returns whether a restart now would find something else than at the latest look.
    mutating func hasChangedSinceLastLook() -> Bool {
        let files = self.files
        defer { self.latestLook = files }
        return files != self.latestLook
    }

    private static func perform(_ event: RecordingVFS.Event, on bytes: inout [UInt8]) {
        switch event {
        case .write(_, let offset, let written):
            let end = offset + written.count
            if bytes.count < end { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
            bytes.replaceSubrange(offset..<end, with: written)
        case .truncate(_, let count):
            bytes = Array(bytes.prefix(count)) + [UInt8](repeating: 0, count: max(0, count - bytes.count))
        case .synchronize, .delete, .note:
            break
        }
    }
}

extension RecordingVFS.Event {
    fileprivate var torn: Self {
        guard case .write(let path, let offset, let bytes) = self, bytes.count > 512 else { return self }
        return .write(path: path, offset: offset, bytes: Array(bytes.prefix(bytes.count / 2 / 512 * 512)))
    }
}
