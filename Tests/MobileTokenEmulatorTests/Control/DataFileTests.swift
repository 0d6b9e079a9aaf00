import Foundation
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

@Suite(.timeLimit(.minutes(4))) struct DataFileTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("emulator-\(UUID())")

    private func configuration() throws -> Emulator.Configuration {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        var configuration = Emulator.Configuration()
        configuration.dataFile = self.folder.appendingPathComponent("state").path
        return configuration
    }

    @Test func theStateOutlivesTheServer() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let configuration = try self.configuration()
        let (application, activations) = try await withEmulator(configuration) { emulator async throws in
            try await emulator.register(user: "alice")
            try await emulator.register(user: "bob")
            return (emulator.sdkConfiguration, await emulator.activations())
        }
        #expect(activations.map(\.userID) == ["bob", "alice"])
        try await withEmulator(configuration) { emulator async throws in
            #expect(emulator.sdkConfiguration == application)
            #expect(await emulator.activations() == activations)
            try await emulator.reset()
            #expect(await emulator.activations().isEmpty)
            #expect(emulator.sdkConfiguration == application)
        }
        try await withEmulator(configuration) { emulator async throws in
            #expect(await emulator.activations().isEmpty)
            #expect(emulator.sdkConfiguration == application)
        }
    }

    @Test func whatWasAnsweredIsInTheFileWithoutStopping() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let configuration = try self.configuration()
        let emulator = try await Emulator.start(configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...20 { group.addTask { _ = try await emulator.register(user: "user\(number)") } }
            try await group.waitForAll()
        }
        // As after a crash: a copy of what is on the disk now.
        let copy = self.folder.appendingPathComponent("copy").path
        for suffix in ["", "-wal"] {
            let path = try #require(configuration.dataFile) + suffix
            try? FileManager.default.copyItem(atPath: path, toPath: copy + suffix)
        }
        var other = Emulator.Configuration()
        other.dataFile = copy
        try await withEmulator(other) { survivor async throws in
            #expect(await survivor.activations() == emulator.activations())
        }
        await emulator.stop()
    }

    @Test func twoServersDoNotShareAFile() async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        let configuration = try self.configuration()
        try await withEmulator(configuration) { _ async throws in
            await #expect {
                try await Emulator.start(configuration: configuration)
            } throws: {
                ($0 as? EmulatorError)?.code == .storage
            }
        }
    }

    @Test(arguments: ["nowhere/state", "folder"])
    func aFileThatCannotBeUsedIsAnError(name: String) async throws {
        defer { try? FileManager.default.removeItem(at: self.folder) }
        var configuration = try self.configuration()
        try FileManager.default.createDirectory(
            at: self.folder.appendingPathComponent("folder"),
            withIntermediateDirectories: true
        )
        configuration.dataFile = self.folder.appendingPathComponent(name).path
        await #expect {
            try await Emulator.start(configuration: configuration)
        } throws: {
            ($0 as? EmulatorError)?.code == .storage
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
                #expect(try await emulator.send("GET", "/_emulator/export").body == Array(document))
                try await emulator.register(user: "bob")
                try await emulator.reset()
                #expect(await emulator.activations() == activations)
            }
        }
    }
}

extension Emulator {
    /// Makes a registration through the `/v2` API.
    @discardableResult
    func register(user: String) async throws -> RawConnection.Response {
        let credentials = Data("\(self.cloudUser):\(self.cloudPassword)".utf8).base64EncodedString()
        let response = try await self.send(
            "POST",
            "/v2/registrations",
            headers: ["Authorization: Basic \(credentials)"],
            body: #"{"userId":"\#(user)","flags":[]}"#
        )
        #expect(response.status == 200)
        return response
    }
}
