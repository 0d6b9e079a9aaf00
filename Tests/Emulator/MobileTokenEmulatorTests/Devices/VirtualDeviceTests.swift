import ExactJSON
import Foundation
import MobileTokenCloud
import MobileTokenTesting
import TestSupport
import Testing

@testable import MobileTokenEmulator

/// Devices that live in the server: the bank's side is real, and so is the protocol.
@Suite(.timeLimit(.minutes(5))) struct VirtualDeviceTests {
    private static let versions = ProtocolVersion.allCases

    private func makeDevice(
        _ emulator: Emulator,
        _ version: ProtocolVersion,
        _ rule: Emulator.DeviceRule = .init()
    ) async throws -> Emulator.VirtualDevice {
        try await emulator.core.makeDevice(
            Emulator.NewDevice(origin: .user("alice"), name: "phone", version: version, rule: rule)
        )
    }

    private func task(
        of id: String,
        _ emulator: Emulator,
        _ events: AsyncStream<Emulator.Event>,
        where isWanted: (Emulator.VirtualDevice.Task) -> Bool
    ) async throws -> Emulator.VirtualDevice.Task {
        if let task = try await emulator.device(id).tasks.last(where: isWanted) { return task }
        for await event in events where event.kind == .virtualDevice {
            if let task = try await emulator.device(id).tasks.last(where: isWanted) { return task }
        }
        throw EmulatorError(.notFound, "the server has stopped")
    }

    // MARK: By rule

    @Test(arguments: Self.versions) func itApprovesAndTheJournalShowsHow(version: ProtocolVersion)
        async throws
    {
        try await withEmulator { emulator in
            let device = try await self.makeDevice(emulator, version)
            #expect(device.version == version.rawValue && device.status == .active && device.userID == "alice")
            let activation = try #require(await emulator.activations().first)
            #expect(activation.id == device.id && activation.name == "phone")
            #expect(activation.version == version.rawValue)
            let operation = try await emulator.cloud.createOperation("payment", userID: "alice")
            #expect(await emulator.decision(on: operation.id)?.status == .approved)
            let requests = await emulator.journal().filter { $0.deviceName == "phone" }
            #expect(requests.last { $0.path.hasSuffix("/operation/authorize") }?.isAccepted == true)
            #expect(requests.contains { $0.path.hasSuffix("/activation/create") })
            #expect(requests.contains { $0.path.hasSuffix("/operation/list") && $0.activationID == device.id })
            #expect(requests.refusals == [])
            // The bank's own calls are nobody's device.
            #expect(await emulator.requests(to: "/v2/operations").allSatisfy { $0.deviceName == nil })
        }
    }

    @Test(arguments: Self.versions) func aWrongPasswordIsCountedAndBlocks(version: ProtocolVersion)
        async throws
    {
        try await withEmulator { emulator in
            let device = try await self.makeDevice(emulator, version, .init(.wrongPassword))
            for failures in 1...5 {
                let events = emulator.events()
                let operation = try await emulator.cloud.createOperation("login", userID: "alice")
                let task = try await self.task(of: device.id, emulator, events) { task in
                    task.operationID == operation.id && task.state == .failed
                }
                #expect(task.failure == "The password is wrong")
                #expect(try await emulator.cloud.operation(operation.id).failureCount == 1)
                #expect(await emulator.activations().first?.failedAttempts == failures)
            }
            #expect(try await emulator.device(device.id).status == .blocked)
            // Once unblocked, another rule decides what waits.
            try await emulator.unblockActivation(device.id)
            try await emulator.setRule(.init(.approve), ofDevice: device.id)
            for operation in await emulator.operations() {
                #expect(await emulator.decision(on: operation.id)?.status == .approved)
            }
        }
    }

    @Test func aDelayIsOfTheServersClockAndACanceledOperationIsForgotten() async throws {
        try await withEmulator { emulator in
            await emulator.clock.freeze()
            let device = try await emulator.makeDevice(userID: "alice", rule: .init(.approve, after: 60))
            let events = emulator.events()
            let operations = [
                try await emulator.cloud.createOperation("login", userID: "alice").id,
                try await emulator.cloud.createOperation("login", userID: "alice").id,
            ]
            for await event in events where event.kind == .virtualDevice {
                if try await emulator.device(device.id).tasks.count == 2 { break }
            }
            await emulator.clock.advance(by: .seconds(59))
            try await emulator.cloud.cancelOperation(operations[0])
            #expect(try await emulator.device(device.id).tasks.map(\.operationID) == [operations[1]])
            #expect(try await emulator.cloud.operation(operations[1]).status == .pending)
            await emulator.clock.advance(by: .seconds(1))
            #expect(await emulator.decision(on: operations[1])?.status == .approved)
        }
    }

    @Test func anotherUsersOperationsAreNotItsOwn() async throws {
        try await withEmulator { emulator in
            let device = try await emulator.makeDevice(userID: "alice")
            let others = try await emulator.cloud.createOperation("login", userID: "bob").id
            let own = try await emulator.cloud.createOperation("login", userID: "alice").id
            #expect(await emulator.decision(on: own)?.status == .approved)
            #expect(try await emulator.cloud.operation(others).status == .pending)
            let error = await #expect(throws: EmulatorError.self) {
                try await emulator.decide(others, .approve, byDevice: device.id)
            }
            #expect(error?.message == "the operation is none of those that wait for the device")
        }
    }

    // MARK: By hand

    @Test(arguments: Self.versions) func aPersonDecides(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let device = try await self.makeDevice(emulator, version, .init(.never))
            let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
            let wrong = try await emulator.decide(operation, .wrongPassword, byDevice: device.id)
            #expect(wrong.tasks.last?.state == .failed && wrong.tasks.last?.isByHand == true)
            #expect(try await emulator.cloud.operation(operation).failureCount == 1)
            let right = try await emulator.decide(operation, .approve, byDevice: device.id)
            #expect(right.tasks.map(\.state) == [.failed, .done])
            #expect(try await emulator.cloud.operation(operation).status == .approved)
        }
    }

    @Test func aProximityCodeIsPassedOn() async throws {
        try await withEmulator { emulator in
            let device = try await emulator.makeDevice(userID: "alice", rule: .init(.never))
            let cloud = emulator.cloud
            let operation = try await cloud.createOperation("login", userID: "alice", demandsProximityCheck: true)
            let error = await #expect(throws: EmulatorError.self) {
                try await emulator.decide(operation.id, .approve, byDevice: device.id)
            }
            #expect(error?.code == .refused)
            let code = try #require(operation.proximityCode)
            let with = try await emulator.decide(operation.id, .approve, proximityCode: code, byDevice: device.id)
            #expect(with.tasks.last?.state == .done)
        }
    }

    /// A caller that waits for a decision reads no events meanwhile; more of them than are kept end no wait.
    @Test func aDecisionOutlivesThousandsOfEvents() async throws {
        try await withEmulator { emulator in
            let id = try await self.makeDevice(emulator, .v3_3, .init(.never)).id
            let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
            await emulator.faults.add(FaultRule(match: .init(path: "/api/**/authorize"), effect: .init(delay: 0.5)))
            async let decided = emulator.decide(operation, .approve, byDevice: id)
            while try await emulator.device(id).tasks.last?.state != .underWay { await Task.yield() }
            await emulator.core.flood()
            #expect(try await decided.tasks.last?.state == .done)
        }
    }

    // MARK: Activation

    @Test(arguments: Self.versions)
    func itActivatesWithTheCodeOfABankThatCommitsItLater(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let registration = try await emulator.cloud.register(userID: "alice", protocolVersion: version.rawValue)
            let device = try await emulator.core.makeDevice(
                Emulator.NewDevice(origin: .activationCode(registration.activationCode), version: version)
            )
            #expect(device.id == registration.id && device.status == .pendingCommit)
            try await emulator.cloud.commitRegistration(registration.id)
            let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
            #expect(await emulator.decision(on: operation)?.status == .approved)
        }
    }

    @Test func itGivesTheCodeThatTheBankAsksForAtTheKeyExchange() async throws {
        try await withEmulator { emulator in
            let body = #"{"userId": "alice", "otp": "1234", "otpValidation": "ON_KEY_EXCHANGE"}"#
            let made = try await emulator.send("POST", "/_emulator/cloud/registrations", body: body)
            let code = try #require(try JSONValue(parsing: Array(made.body))["activationCode"]?.string)
            for (otp, isRight) in [("1235", false), ("1234", true)] {
                let device = #"{"activationCode": "\#(code)", "otp": "\#(otp)"}"#
                let response = try await emulator.send("POST", "/_emulator/devices", body: device)
                #expect((response.status == 200) == isRight, "\(response.text)")
            }
            let other = #"{"userId": "bob", "otp": "1"}"#
            let misplaced = try await emulator.send("POST", "/_emulator/devices", body: other)
            #expect(misplaced.status == 400 && misplaced.text.contains("'otp' needs 'activationCode' beside it"))
        }
    }

    /// DEFECTS3 E 39: a device knew the server's own application alone.
    @Test(arguments: Self.versions) func itIsOfTheApplicationThatItIsMadeFor(version: ProtocolVersion) async throws {
        try await withEmulator { emulator async throws in
            func make(_ body: JSONObject) async throws -> (status: Int, text: String, device: JSONValue?) {
                var body = body
                body["version"] = .string(version.rawValue)
                let json = String(decoding: JSONValue.object(body).serialized(), as: UTF8.self)
                let made = try await emulator.send("POST", "/_emulator/devices", body: json)
                return (made.status, made.text, try? JSONValue(parsing: made.body))
            }
            #expect(try await emulator.bank("POST", "/admin/applications", #"{"id":"second"}"#).status == 200)
            var registration = CloudClient.NewRegistration(userID: "bob")
            (registration.applicationID, registration.protocolVersion) = ("second", version.rawValue)
            let code = try await emulator.cloud.register(registration).activationCode
            // A device of the server's own application does not know the code of another one, as a real one.
            let foreign = try await make(["activationCode": .string(code), "appId": .string(emulator.applicationID)])
            #expect(foreign.status == 409, "\(foreign.text)")
            let unknown = try await make(["userId": "alice", "appId": "third"])
            #expect(unknown.status != 200 && unknown.text.contains("'appId' names no application"), "\(unknown.text)")
            for body: JSONObject in [
                ["userId": "alice", "appId": "second"], ["activationCode": .string(code)],
                ["userId": "carol", "provider": "emulator", "appId": "second"],
            ] {
                let made = try await make(body)
                #expect(made.status == 200 && made.device?["applicationId"] == "second", "\(made.text)")
            }
            var request = CloudClient.NewOperation(userID: "alice")
            (request.template, request.applicationID) = ("login", "second")
            let operation = try await emulator.cloud.createOperation(request).id
            #expect(await emulator.decision(on: operation)?.status == .approved)
        }
    }

    @Test(arguments: AlgorithmSuite.available) func aDeviceOfEachSuiteApproves(suite: AlgorithmSuite) async throws {
        try await withEmulator { emulator in
            #expect(try await emulator.makeDevice(userID: "alice", version: "4.0", suite: suite).suite == suite)
            #expect(await emulator.activations().map(\.suite) == [suite])
            let operation = try await emulator.cloud.createOperation("payment", userID: "alice").id
            #expect(await emulator.decision(on: operation)?.status == .approved)
        }
    }

    @Test func aSuiteThatIsNotOfferedIsRefused() async throws {
        try await withEmulator { emulator in
            try await emulator.setProtocolRules(altered(EmulatorProtocolRules()) { $0.allowedSuites = [.p384] })
            let error = await #expect(throws: EmulatorError.self) {
                try await emulator.makeDevice(userID: "alice", version: "4.0", suite: .p384MLLevel3)
            }
            #expect(error?.code == .refused)
            #expect(await emulator.devices() == [])
            try await emulator.makeDevice(userID: "alice", version: "4.0")
        }
    }

    // MARK: Its counter

    /// A device that is behind its server's counter asks for the status and catches up, as every client does.
    @Test(arguments: Self.versions) func aDeviceCatchesUpWithACounterThatWasMoved(version: ProtocolVersion) async throws
    {
        try await withEmulator { emulator in
            let device = try await self.makeDevice(emulator, version)
            // More often than failures block.
            for steps: UInt64 in [1, 3, 1, 1, 1, 1] {
                let before = try await emulator.cloud.createOperation("login", userID: "alice").id
                #expect(await emulator.decision(on: before)?.status == .approved)
                try await emulator.settle(within: .seconds(60))
                try await emulator.advanceCounter(ofActivation: device.id, by: steps)
                let after = try await emulator.cloud.createOperation("login", userID: "alice").id
                #expect(await emulator.decision(on: after)?.status == .approved)
                #expect(await emulator.journal().compactMap { $0.code?.stepsBehind }.last == steps)
            }
            #expect(await emulator.activations().first?.failedAttempts == 0)
        }
    }

    @Test func aDeviceOfVersion4SurvivesALostAnswerToItsConfirmation() async throws {
        try await withEmulator { emulator in
            let match = FaultRule.Match(path: "/pa/v4/activation/confirm", first: 1)
            let lost = FaultRule(match: match, effect: .init(reset: .after))
            await emulator.faults.add(lost)
            let device = try await emulator.makeDevice(userID: "alice", version: "4.0")
            let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
            #expect(await emulator.decision(on: operation)?.status == .approved)
            #expect(try await emulator.device(device.id).failure == nil)
            #expect(await emulator.journal().filter { $0.path == lost.match.path }.map(\.status) == [200])
        }
    }

    @Test func aDeviceOfVersion4ConfirmsLaterWhatItCouldNotConfirmAtOnce() async throws {
        try await withEmulator { emulator in
            await emulator.clock.freeze()
            await emulator.faults.add(
                FaultRule(match: .init(path: "/pa/v4/activation/confirm"), effect: .init(reset: .before))
            )
            let device = try await emulator.makeDevice(userID: "alice", version: "4.0")
            let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
            try await emulator.settle(within: .seconds(60))
            #expect(try await emulator.device(device.id).failure == "the connection broke")
            await emulator.faults.removeAll()
            await emulator.clock.advance(by: .seconds(10))
            #expect(await emulator.decision(on: operation)?.status == .approved)
            #expect(try await emulator.device(device.id).failure == nil)
        }
    }

    // MARK: Faults

    @Test func whatItDoesIsSubjectToFaults() async throws {
        try await withEmulator { emulator in
            await emulator.clock.freeze()
            let device = try await emulator.makeDevice(userID: "alice")
            let events = emulator.events()
            for effect: FaultRule.Effect in [.lostRequest, .unavailable()] {
                await emulator.faults.set([FaultRule(match: .init(path: "/api/**/authorize"), effect: effect)])
                let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
                _ = try await self.task(of: device.id, emulator, events) { task in
                    task.operationID == operation && task.state == .waiting && task.failure != nil
                }
                await emulator.faults.removeAll()
                await emulator.clock.advance(by: .seconds(10))
                #expect(await emulator.decision(on: operation)?.status == .approved)
            }
            // The client of the device finds out that the bank has carried the decision out.
            for body: FaultRule.Effect.Body in [.garbage, .truncated] {
                await emulator.faults.set([
                    FaultRule(match: .init(path: "/api/**/authorize"), effect: .init(body: body))
                ])
                let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
                try await emulator.settle(within: .seconds(60))
                #expect(await emulator.decision(on: operation)?.status == .approved)
                await emulator.faults.removeAll()
            }
        }
    }

    /// The operation is decided by then, and no longer listed: the device must not take its own approval for a refusal.
    @Test func whatItHasDecidedIsDoneWhenTheAnswerWasLost() async throws {
        try await withEmulator { emulator in
            await emulator.clock.freeze()
            let device = try await emulator.makeDevice(userID: "alice")
            for isSeenAgain in [false, true] {
                await emulator.faults.set([
                    FaultRule(match: .init(path: "/api/**/authorize", first: 1), effect: .init(body: .garbage))
                ])
                let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
                try await emulator.settle(within: .seconds(60))
                #expect(try await emulator.cloud.operation(operation).status == .approved)
                if isSeenAgain { try await emulator.cloud.createOperation("login", userID: "alice") }
                await emulator.clock.advance(by: .seconds(10))
                try await emulator.settle(within: .seconds(60))
                let task = try await emulator.device(device.id).tasks.first { $0.operationID == operation }
                #expect(task?.state == .done && task?.failure == nil)
            }
        }
    }

    @Test func oneThatCannotActivateLeavesNothingBehind() async throws {
        try await withEmulator { emulator in
            await emulator.faults.add(FaultRule(match: .init(path: "/pa/**"), effect: .init(reset: .before)))
            let error = await #expect(throws: EmulatorError.self) { try await emulator.makeDevice(userID: "alice") }
            #expect(error?.message.contains("the connection broke") == true)
            #expect(await emulator.devices() == [])
            #expect(await emulator.activations().map(\.status) == [.removed])
        }
    }

    // MARK: Its life

    @Test func aDeviceIsRemovedWithItsActivation() async throws {
        try await withEmulator { emulator in
            let device = try await emulator.makeDevice(userID: "alice")
            try await emulator.removeDevice(device.id)
            #expect(await emulator.activations().map(\.status) == [.removed])
            let error = await #expect(throws: EmulatorError.self) { try await emulator.removeDevice(device.id) }
            #expect(error?.code == .notFound)
        }
    }

    @Test func theirNumberIsBounded() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.capacity.devices = 1 }) { emulator in
            let device = try await emulator.makeDevice(userID: "alice")
            let refused = try await emulator.send("POST", "/_emulator/devices", body: #"{"userId":"bob"}"#)
            #expect(refused.status == 507 && refused.text.contains("no room for more virtual devices (1)"))
            #expect(await emulator.activations().map(\.userID) == ["alice"])
            try await emulator.removeDevice(device.id)
            #expect(try await emulator.send("POST", "/_emulator/devices", body: #"{"userId":"bob"}"#).status == 200)
        }
    }
}

extension EmulatorCore {
    /// Sends more events than anybody keeps, without a pause in which to read one.
    fileprivate func flood() { for _ in 0..<5_000 { self.send(.clock) } }
}
