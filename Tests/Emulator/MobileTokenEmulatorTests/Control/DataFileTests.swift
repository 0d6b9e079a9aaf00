import Foundation
import MobileTokenTesting
import SQLiteDatabase
import TestSupport
import Testing

@testable import MobileTokenEmulator

@Suite(.timeLimit(.minutes(5))) struct DataFileTests {
    private let folder: TemporaryFolder
    private var configuration = Emulator.Configuration()

    init() throws {
        self.folder = try TemporaryFolder()
        self.configuration.dataFile = self.folder.file("state")
    }

    @Test func theStateOutlivesTheServer() async throws {
        let (application, activations) = try await withEmulator(self.configuration) { emulator async throws in
            try await emulator.register(user: "alice")
            try await emulator.register(user: "bob")
            return (emulator.sdkConfiguration, await emulator.activations())
        }
        #expect(activations.map(\.userID) == ["bob", "alice"])
        try await withEmulator(self.configuration) { emulator async throws in
            #expect(emulator.sdkConfiguration == application)
            #expect(await emulator.activations() == activations)
            try await emulator.reset()
            #expect(await emulator.activations().isEmpty)
            #expect(emulator.sdkConfiguration == application)
        }
        try await withEmulator(self.configuration) { emulator async throws in
            #expect(await emulator.activations().isEmpty)
            #expect(emulator.sdkConfiguration == application)
        }
    }

    /// The state at the start is that after the scenario, and a file that has a state gets no second one.
    @Test(arguments: [true, false]) func aScenarioIsPlayedOnceAndAResetGoesBackToIt(isKept: Bool) async throws {
        var configuration = self.configuration
        if !isKept { configuration.dataFile = nil }
        configuration.scenario = Data(
            #"{"registrations": [{"userId": "alice"}], "devices": [{"userId": "bob", "rule": {"decision": "never"}}]}"#
                .utf8
        )
        var started: [String]?
        for start in 0..<3 {
            try await withEmulator(configuration) { emulator async throws in
                #expect(emulator.isContinued == (isKept && start > 0))
                #expect((await emulator.played != nil) == !emulator.isContinued)
                let ids = await emulator.activations().map(\.id)
                #expect(ids.count == 2)
                if isKept { #expect(ids == started ?? ids) }
                started = ids
                try await emulator.register(user: "carol")
                try await emulator.removeDevice(try #require(await emulator.devices().first?.id))
                try await emulator.reset()
                #expect(await emulator.activations().map(\.id) == ids)
                let device = try #require(await emulator.devices().first?.id)
                let operation = try await emulator.cloud.createOperation("login", userID: "bob").id
                try await emulator.decide(operation, .approve, byDevice: device)
                #expect(try await emulator.cloud.operation(operation).status == .approved)
            }
        }
    }

    @Test func aScenarioThatCannotBePlayedLeavesNothingBehind() async throws {
        var configuration = self.configuration
        configuration.scenario = Data(#"{"registrations": [{"usrId": "alice"}]}"#.utf8)
        let error = await #expect(throws: EmulatorError.self) { try await Emulator.start(configuration: configuration) }
        #expect(error?.message.contains("did you mean 'userId'?") == true)
        configuration.scenario = Data(#"{"registrations": [{"userId": "alice"}]}"#.utf8)
        try await withEmulator(configuration) { #expect(await $0.activations().count == 1) }
    }

    @Test func whatWasAnsweredIsInTheFileWithoutStopping() async throws {
        let emulator = try await Emulator.start(configuration: self.configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...20 { group.addTask { _ = try await emulator.register(user: "user\(number)") } }
            try await group.waitForAll()
        }
        // As after a crash: a copy of what is on the disk now.
        let copy = self.folder.file("copy")
        for suffix in ["", "-wal"] {
            let path = try #require(self.configuration.dataFile) + suffix
            try? FileManager.default.copyItem(atPath: path, toPath: copy + suffix)
        }
        try await withEmulator(altered(Emulator.Configuration()) { $0.dataFile = copy }) { survivor async throws in
            #expect(await survivor.activations() == emulator.activations())
        }
        await emulator.stop()
    }

    @Test func twoServersDoNotShareAFile() async throws {
        try await withEmulator(self.configuration) { _ async throws in
            await #expect {
                try await Emulator.start(configuration: self.configuration)
            } throws: {
                ($0 as? EmulatorError)?.code == .storage && "\($0)".contains("Another server uses the data file")
            }
        }
    }

    @Test func aStoppedServerLetsGoOfItsFileWhoeverHoldsIt() async throws {
        let stopped = try await Emulator.start(configuration: self.configuration)
        await stopped.stop()
        try await withEmulator(self.configuration) { emulator async throws in
            try await emulator.register(user: "alice")
        }
        // A change that would not be kept is not granted.
        await #expect(throws: CloudError.self) { try await stopped.cloud.register(userID: "bob") }
    }

    @Test(arguments: ["nowhere/state", "folder"])
    func aFileThatCannotBeUsedIsAnError(name: String) async throws {
        var configuration = self.configuration
        try FileManager.default.createDirectory(
            at: self.folder.url.appending(path: "folder"),
            withIntermediateDirectories: true
        )
        configuration.dataFile = self.folder.file(name)
        let error = await #expect(throws: EmulatorError.self) { try await Emulator.start(configuration: configuration) }
        #expect(error?.code == .storage)
    }

    // MARK: Who may read it

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func theFileIsItsOwnersAlone() async throws {
        let path = try #require(self.configuration.dataFile)
        for _ in 0..<2 {
            let emulator = try await Emulator.start(configuration: self.configuration)
            try await emulator.register(user: "alice")
            #expect(try self.mode(path) == 0o600)
            #expect(try self.mode(path + "-wal") == 0o600)
            await emulator.stop()
            // Somebody opened it to others; the next start does not leave it so.
            try FileManager.default.setAttributes([.posixPermissions: 0o664], ofItemAtPath: path)
        }
    }

    @Test func anExportIsItsOwnersAlone() async throws {
        try await withEmulator { emulator async throws in
            let path = self.folder.file("export.json")
            let link = self.folder.file("link")
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            try Data("old".utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
            try await emulator.register(user: "alice")
            try await emulator.export(toFile: path)
            #expect(try self.mode(path) == 0o600)
            let exported = try Data(contentsOf: URL(filePath: path))
            #expect(exported == (try await emulator.exported()))
            // Somebody else may have laid the link: it is neither followed nor replaced.
            try await emulator.register(user: "bob")
            for wrong in [link, self.folder.path, "/dev/null", self.folder.path + "/nowhere/export.json", ""] {
                let error = await #expect(throws: EmulatorError.self) { try await emulator.export(toFile: wrong) }
                #expect(error?.code == .storage)
            }
            // Nothing half-written is left behind.
            let files = try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
            #expect(files.sorted() == ["export.json", "link"])
        }
    }

    // MARK: What is written

    @Test func aRequestThatChangesNothingWritesNothing() async throws {
        try await withEmulator(self.configuration) { emulator async throws in
            let started = try #require(await emulator.core.dataFileStatistics)
            #expect(started.transactions == 1)
            for path in ["/nothing", "/v2/operations", "/pa/v3/status"] { try await emulator.send("GET", path) }
            try await emulator.send("POST", "/pa/v3/status", body: "{}")
            #expect(await emulator.core.dataFileStatistics == started)
            try await emulator.register(user: "alice")
            let registered = try #require(await emulator.core.dataFileStatistics)
            #expect(registered.transactions == 2)
            #expect(registered.rows - started.rows == 2)  // the activation, and who waits for its code
        }
    }

    @Test func whatCannotBeWrittenHasNotHappened() async throws {
        let large = String(repeating: "x", count: 500_000)
        let operation =
            #"{"userId": "alice", "operationType": "o", "data": "A1", "formData": {"title": "t", "message": "\#(large)"}}"#
        let state = try await withEmulator(self.configuration) { emulator async throws in
            try await withCallbackReceiver({ _ in 200 }) { url in
                let callback = #"{"callbacks": [{"name": "b", "type": "OPERATION", "callbackUrl": "\#(url)"}]}"#
                try await emulator.play(scenario: Data(callback.utf8))
                let file = try #require(await emulator.core.dataFile)
                let state = try await emulator.exported()
                try await file.limit(pages: 1)
                #expect(try await emulator.send("POST", "/_emulator/cloud/operations", body: operation).status == 500)
                #expect(try await emulator.exported() == state)
                #expect(await emulator.operations().isEmpty && emulator.deliveries().isEmpty)
                #expect(await emulator.journal().map(\.status) == [500])
                #expect(await emulator.journal().refusals == ["The state could not be written"])

                let scenario =
                    #"{"clock": {"mode": "manual"}, "templates": [\#(ServedTemplateTests.template())], "operations": [\#(operation)]}"#
                await #expect(throws: EmulatorError.self) { try await emulator.play(scenario: Data(scenario.utf8)) }
                #expect(await emulator.clock.isManual == false)
                #expect(await emulator.templates().contains { $0.name == "order" } == false)
                #expect(try await emulator.exported() == state)

                let large = try await withEmulator { other async throws in
                    try await other.play(scenario: Data(#"{"operations": [\#(operation)]}"#.utf8))
                    return try await other.exported()
                }
                let key = emulator.applicationKey
                await #expect(throws: EmulatorError.self) { try await emulator.importState(large) }
                #expect(try await emulator.exported() == state && emulator.applicationKey == key)

                try await file.limit(pages: 1_000_000)
                #expect(try await emulator.send("POST", "/_emulator/cloud/operations", body: operation).status == 200)
                #expect(await emulator.operations().count == 1 && emulator.deliveries().count == 1)
                return try await emulator.exported()
            }
        }
        try await withEmulator(self.configuration) { emulator async throws in
            #expect(try await emulator.exported() == state)
        }
    }

    /// Number 26: what could not be imported is not what a reset goes back to, in no part.
    @Test func aResetAfterAFailedImportMixesNothing() async throws {
        let other = try await withEmulator { emulator async throws in
            try await emulator.makeDevice(userID: "bob")
            return try await emulator.exported()
        }
        try await withEmulator(self.configuration) { emulator async throws in
            let file = try #require(await emulator.core.dataFile)
            let state = try await emulator.exported()
            try await file.limit(pages: 1)
            // The second one must not take the first one for what was there.
            for _ in 0..<2 { await #expect(throws: EmulatorError.self) { try await emulator.importState(other) } }
            try await file.limit(pages: 1_000_000)
            // Nor may the reset share the fate of what a device was doing when the file was full.
            await emulator.core.writing?.value
            try await emulator.reset()
            #expect(await emulator.devices().isEmpty)
            #expect(try await emulator.exported() == state)
            try await emulator.importState(other)
            #expect(await emulator.devices().count == 1)
            try await emulator.reset()
            #expect(await emulator.devices().count == 1)
        }
    }

    @Test func aStateOfManyMegabytesIsImported() async throws {
        try await withEmulator { emulator async throws in
            try await emulator.register(user: "alice")
            let space = String(repeating: " ", count: 5 << 20)
            let document = String(decoding: try await emulator.exported(), as: UTF8.self) + space
            #expect(try await emulator.send("POST", "/_emulator/import", body: document).status == 200)
            let made = try await emulator.send("POST", "/_emulator/spaces", body: "{}").json(as: [String: Any].self)
            let id = try #require(made["id"] as? String)
            let path = "/spaces/\(id)/_emulator/import"
            #expect(try await emulator.send("POST", path, body: document).status == 200)
            // All else has its bound.
            #expect(try await emulator.send("POST", "/_emulator/scenario", body: "{}" + space).status == 413)
        }
    }

    @Test func anExportedStateMayBeImportedAndStartedWith() async throws {
        let (document, activations) = try await withEmulator { emulator async throws in
            try await emulator.register(user: "alice")
            return (try await emulator.exported(), await emulator.activations())
        }
        var seeded = Emulator.Configuration()
        seeded.initialState = document
        for configuration in [Emulator.Configuration(), seeded] {
            try await withEmulator(configuration) { emulator async throws in
                if configuration.initialState == nil {
                    let text = String(decoding: document, as: UTF8.self)
                    #expect(try await emulator.send("POST", "/_emulator/import", body: text).status == 200)
                }
                #expect(await emulator.activations() == activations)
                #expect(try await emulator.bank("GET", "/_emulator/export").body == Array(document))
                try await emulator.register(user: "bob")
                try await emulator.reset()
                #expect(await emulator.activations() == activations)
            }
        }
    }
}

extension Emulator {
    /// Makes a registration through the cloud API.
    @discardableResult
    func register(user: String) async throws -> RawConnection.Response {
        let response = try await self.bank("POST", "/v2/registrations", #"{"userId":"\#(user)","flags":[]}"#)
        #expect(response.status == 200)
        return response
    }
}

extension DataFile {
    /// Fills the disk, as it were: the file does not grow beyond so many pages, or beyond what it has.
    fileprivate func limit(pages: Int) throws { try self.connection.set("max_page_count = \(pages)") }
}
