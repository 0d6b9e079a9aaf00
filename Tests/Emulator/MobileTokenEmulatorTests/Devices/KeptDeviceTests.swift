import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// Devices outlive the server, and go where its state goes: with their rules, their tasks and their counters.
@Suite(.timeLimit(.minutes(5))) struct KeptDeviceTests {
    private static let versions = ProtocolVersion.allCases

    private func withDataFile(_ body: (Emulator.Configuration) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        try await body(altered(Emulator.Configuration()) { $0.dataFile = folder.file("state.sqlite") })
    }

    /// Makes a device that has decided one operation, and waits with another.
    private func prepare(_ emulator: Emulator, _ version: ProtocolVersion) async throws -> Emulator.VirtualDevice {
        let device = try await emulator.makeDevice(
            userID: "alice",
            name: "Alice's phone",
            version: version.rawValue,
            push: "fcm",
            rule: .init(.reject, after: 60, reason: "X")
        )
        let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
        try await emulator.decide(operation, .approve, byDevice: device.id)
        try await emulator.settle(within: .seconds(60))
        return try await emulator.device(device.id)
    }

    private func expectUsable(_ emulator: Emulator, _ device: Emulator.VirtualDevice) async throws {
        #expect(await emulator.devices() == [device])
        let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
        #expect(try await emulator.decide(operation, .approve, byDevice: device.id).tasks.last?.state == .done)
        #expect(try await emulator.cloud.operation(operation).status == .approved)
        #expect(await emulator.pushes().contains { $0.activationID == device.id })
        // It neither lacks steps nor has too many.
        #expect(await emulator.journal().compactMap { $0.code?.stepsBehind } == [])
        #expect(await emulator.activations().first?.failedAttempts == 0)
    }

    @Test(arguments: Self.versions) func theyOutliveTheServer(version: ProtocolVersion) async throws {
        try await self.withDataFile { configuration in
            let device = try await withEmulator(configuration) { try await self.prepare($0, version) }
            try await withEmulator(configuration) { emulator in
                try await self.expectUsable(emulator, device)
                try await emulator.removeDevice(device.id)
            }
            try await withEmulator(configuration) { #expect(await $0.devices() == []) }
        }
    }

    /// As after `kill -9`: a copy of what is on the disk while the server still runs.
    @Test func whatTheyHaveDoneIsInTheFileWithoutStopping() async throws {
        try await self.withDataFile { configuration in
            try await withEmulator(configuration) { emulator in
                let device = try await self.prepare(emulator, .v4_0)
                let path = try #require(configuration.dataFile)
                for suffix in ["", "-wal"] {
                    try FileManager.default.copyItem(atPath: path + suffix, toPath: path + ".copy" + suffix)
                }
                var other = configuration
                other.dataFile = path + ".copy"
                try await withEmulator(other) { try await self.expectUsable($0, device) }
            }
        }
    }

    /// A rule decides what an operation waited for that was made before the restart, and nothing a second time.
    @Test func whatTheyHadToDoIsDoneAfterARestart() async throws {
        try await self.withDataFile { configuration in
            let (mistyped, waiting) = try await withEmulator(configuration) { emulator in
                await emulator.clock.freeze()
                let device = try await emulator.makeDevice(userID: "alice", rule: .init(.wrongPassword))
                let mistyped = try await emulator.cloud.createOperation("login", userID: "alice").id
                try await emulator.settle(within: .seconds(60))
                try await emulator.setRule(.init(.never), ofDevice: device.id)
                let waiting = try await emulator.cloud.createOperation("login", userID: "alice").id
                try await emulator.settle(within: .seconds(60))
                return (mistyped, waiting)
            }
            try await withEmulator(configuration) { emulator in
                let device = try #require(await emulator.devices().first)
                #expect(device.tasks.map(\.operationID) == [mistyped] && device.tasks.map(\.state) == [.failed])
                try await emulator.settle(within: .seconds(60))
                #expect(try await emulator.cloud.operation(mistyped).failureCount == 1)
                try await emulator.decide(waiting, .approve, byDevice: device.id)
                #expect(try await emulator.cloud.operation(waiting).status == .approved)
            }
        }
    }

    /// As after `kill -9` between the bank's answer and the news of it to the device.
    @Test func anOperationThatTheyWereNotToldOfIsDecidedAfterARestart() async throws {
        try await self.withDataFile { configuration in
            var configuration = configuration
            configuration.cloudPassword = "secret"
            let core = try EmulatorCore(configuration: configuration)
            _ = await core.commit()
            let id = try await core.makeDevice(.init(origin: .user("alice"))).id
            let now = await core.now.milliseconds
            for work in core.devices.takeWork(at: now, core.deviceSite(of:)) {
                core.devices.finish(work) { $0.finishLook(id, found: [], at: now) }
            }
            try await core.commitDevice(id)
            let operation = try await core.cloud.createOperation("login", userID: "alice").id
            await core.closeDataFile()
            try await withEmulator(configuration) { emulator in
                let decided = try await emulator.operation(operation, until: .final, within: .seconds(60))
                #expect(decided.status == .approved)
            }
        }
    }

    @Test(arguments: Self.versions) func theyAreExportedAndImported(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let device = try await self.prepare(emulator, version)
            let document = try await emulator.exported()
            try await withEmulator { other in
                try await other.importState(document)
                try await self.expectUsable(other, device)
                #expect(await other.activations().count == 1)
                // A reset goes back to the import.
                try await other.reset()
                #expect(await other.devices() == [device])
                let space = try await other.makeSpace(from: .state(document))
                try await self.expectUsable(space, device)
            }
            // An import replaces those that are there.
            let bob = try await emulator.makeDevice(userID: "bob")
            try await emulator.importState(document)
            #expect(await emulator.devices() == [device])
            await #expect(throws: EmulatorError.self) { try await emulator.device(bob.id) }
        }
    }

    @Test func anImportedDeviceIsInTheDataFile() async throws {
        try await self.withDataFile { configuration in
            let (document, device) = try await withEmulator { emulator in
                let device = try await self.prepare(emulator, .v3_3)
                return (try await emulator.exported(), device)
            }
            try await withEmulator(configuration) { emulator in
                try await emulator.makeDevice(userID: "bob")
                try await emulator.importState(document)
            }
            try await withEmulator(configuration) { emulator in
                try await self.expectUsable(emulator, device)
                try await emulator.reset()
                #expect(await emulator.devices() == [device])
            }
        }
    }

    private static let damages: [@Sendable (inout JSONObject) -> Void] = [
        { $0["keys"] = nil }, { $0["keys"] = "x" }, { $0["device"] = [:] },
        { record in
            var keys = record["keys"]?.object ?? [:]
            keys["activationID"] = "other"
            record["keys"] = .object(keys)
        },
        { record in
            var keys = record["keys"]?.object ?? [:]
            keys["version"] = "9.9"
            record["keys"] = .object(keys)
        },
    ]

    @Test func aDamagedDeviceIsRefusedAndChangesNothing() async throws {
        try await withEmulator { emulator in
            let device = try await self.prepare(emulator, .v3_3)
            let document = try JSONValue(parsing: Array(try await emulator.exported()))
            for damage in Self.damages {
                var (whole, state) = (document.object ?? [:], document["state"]?.object ?? [:])
                let kept = try #require(state["virtualDevices"]?[device.id]?.string)
                var record = try #require(try JSONValue(parsing: Array(kept.utf8)).object)
                damage(&record)
                let text = String(decoding: JSONValue.object(record).serialized(), as: UTF8.self)
                state["virtualDevices"] = .object(JSONObject([.init(key: device.id, value: .string(text))]))
                whole["state"] = .object(state)
                let damaged = String(decoding: JSONValue.object(whole).serialized(), as: UTF8.self)
                let refused = try await emulator.send("POST", "/_emulator/import", body: damaged)
                #expect(refused.status == 400 && refused.text.contains("A virtual device"), "\(refused.text)")
            }
            try await self.expectUsable(emulator, device)
        }
    }

    @Test func thereIsRoomForSoManyOnly() async throws {
        let document = try await withEmulator { emulator in
            for user in ["alice", "bob"] { try await emulator.makeDevice(userID: user) }
            return try await emulator.exported()
        }
        try await withEmulator(altered(Emulator.Configuration()) { $0.capacity.devices = 1 }) { emulator in
            let error = await #expect(throws: EmulatorError.self) { try await emulator.importState(document) }
            #expect(error?.code == .capacityExceeded)
            #expect(await emulator.devices() == [])
        }
    }
}
