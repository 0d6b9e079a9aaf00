import HTTPClientTransport
import MobileToken
import MobileTokenNotifications
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// Every call that asks the server, cancelled before and after each of its requests, and at random.
@Suite(.timeLimit(.minutes(5))) struct CancellationTests {
    /// A new activation with its services, and what its calls are about.
    struct Device: Sendable {
        let emulator: Emulator
        let client: MobileTokenClient
        let activation: Activation
        let service: OperationsService
        let operation: UserOperation
        let messageID: String
    }

    struct Call: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: @Sendable (Device) async throws -> Void

        init(_ name: String, _ body: @escaping @Sendable (Device) async throws -> Void) {
            self.testDescription = name
            self.body = body
        }
    }

    static let calls = [
        Call("operations") { try await $0.service.operations() },
        Call("detail") { _ = try await $0.service.detail(id: $0.operation.id) },
        Call("claim") { try await $0.service.claim(id: $0.operation.id) },
        Call("history") { _ = try await $0.service.history(authenticatedBy: .twoFactors) },
        Call("authorize") { try await $0.service.authorize($0.operation, with: .twoFactors) },
        Call("reject") { try await $0.service.reject($0.operation) },
        Call("unreadCount") { _ = try await $0.client.makeInboxService(for: $0.activation).unreadCount() },
        Call("messages") { device in
            for try await _ in device.client.makeInboxService(for: device.activation).messages() {}
        },
        Call("message") { _ = try await $0.client.makeInboxService(for: $0.activation).message(id: $0.messageID) },
        Call("markRead") { try await $0.client.makeInboxService(for: $0.activation).markRead(id: $0.messageID) },
        Call("markAllRead") { try await $0.client.makeInboxService(for: $0.activation).markAllRead() },
        Call("push") { try await $0.client.makePushService(for: $0.activation).register(token: "t", for: .apns) },
        Call("status") { _ = try await $0.activation.status() },
        Call("validate") { try await $0.activation.validate(.twoFactors) },
        Call("requestToken") { try await $0.activation.requestToken("another") },
        Call("removeToken") { device in
            try await device.activation.requestToken("another")
            try await device.activation.removeToken("another")
        },
        Call("deriveDataKey") { _ = try await $0.activation.deriveDataKey(index: 1, with: .twoFactors) },
        Call("signWithDeviceKey") { _ = try await $0.activation.signWithDeviceKey([1], with: .twoFactors) },
        Call("addBiometryFactor") {
            let key = SecretBytes(copying: Array(0..<16))
            try await $0.activation.addBiometryFactor(key: key, password: SecretBytes(utf8: password))
        },
        Call("changePassword") {
            // To the same one, so that whoever comes next need not know how far it came.
            let same = SecretBytes(utf8: password)
            try await $0.activation.changePassword(from: same, to: same)
        },
        Call("userInfo") { _ = try await $0.activation.userInfo() },
        Call("a counter repair") { device in
            try await device.emulator.advanceCounter(ofActivation: device.activation.activationID, by: 3)
            try await device.activation.validate(.twoFactors)
        },
        Call("activate") {
            _ = try await $0.emulator.makeActivation(user: "bob", password: password, client: $0.client)
        },
    ]

    @Test(arguments: Self.calls) func aCallCancelledAroundEachOfItsRequestsLeavesAllInOrder(call: Call) async throws {
        try await withEmulator { emulator in
            let waypoints = Waypoints()
            let transport = try waypoints.transport()
            var number = 1
            while true {
                let wasReached = Shared(false)
                let isGone = try await self.run(call, on: emulator, transport) { start, task in
                    waypoints.arm(number) {
                        wasReached.value = true
                        task.cancel()
                    }
                    start.open()
                    let result = await task.result
                    waypoints.arm(nil)
                    guard wasReached.value, case .failure(let error) = result else { return }
                    #expect(error is CancellationError, "at waypoint \(number)")
                }
                await until(isGone)
                guard wasReached.value else { break }
                number += 1
            }
            #expect(number > 2)
        }
    }

    @Test func aCallCancelledAtAnyMomentLeavesAllInOrder() async throws {
        try await withEmulator { emulator in
            var random = SeededGenerator()
            let transport = try CurlTransport()
            for call in Self.calls {
                for _ in 0..<3 {
                    // Moments between nothing and long after the end, the early ones more often.
                    let yields = Int.random(in: 0..<(1 << Int.random(in: 0...12, using: &random)), using: &random)
                    let isGone = try await self.run(call, on: emulator, transport) { start, task in
                        start.open()
                        for _ in 0..<yields { await Task.yield() }
                        task.cancel()
                        guard case .failure(let error) = await task.result else { return }
                        #expect(error is CancellationError, "\(call.testDescription) after \(yields) yields")
                    }
                    await until(isGone)
                }
            }
            await transport.shutdown()
        }
    }

    @Test func aSignedRequestOnTheWireIsFinishedForACallerThatLeft() async throws {
        try await withEmulator { emulator in
            let (door, isHolding) = (Door(), Shared(false))
            let client = try emulator.makeClient {
                $0.transport = try InterceptingTransport { request, deliver in
                    let response = try await deliver(request)
                    if isHolding.value, request.isSigned { await door.pass() }
                    return response
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let service = client.makeOperationsService(for: activation)
            let operation = try await emulator.offer(to: "alice", on: service)
            isHolding.value = true
            let approval = Task { _ = try await service.authorize(operation, with: .twoFactors) }
            await door.waitForVisitors()
            approval.cancel()
            // At once, although the answer is held back.
            await #expect(throws: CancellationError.self) { try await approval.value }
            let next = Task { try await activation.validate(.twoFactors) }
            door.open()
            try await next.value
            #expect(try await emulator.status(of: operation) == .approved)
            #expect(await emulator.signedRequests(of: activation).areConsecutive)
            #expect(try await service.operations() == [])
        }
    }

    @Test func removalThatIsCancelledHappensWhollyOrNotAtAll() async throws {
        try await withEmulator { emulator in
            let waypoints = Waypoints()
            let client = try emulator.makeClient { $0.transport = try waypoints.transport() }
            for number in 1...2 {
                let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
                let start = Door()
                let task = Task {
                    await start.pass()
                    try await activation.remove(authenticatedBy: .twoFactors)
                }
                waypoints.arm(number) { task.cancel() }
                start.open()
                await #expect(throws: CancellationError.self) { try await task.value }
                waypoints.arm(nil)
                // The request was signed, so it is finished in the background; the next one waits for it.
                let code = try await errorCode { try await activation.validate(.twoFactors) }
                #expect(code == .unknownActivation)
                #expect(await emulator.summary(of: activation)?.status == .removed)
                #expect(try await client.activations().isEmpty)
            }
        }
    }

    @Test func pollingEndsWithItsTaskWhereverItIs() async throws {
        try await withEmulator { emulator in
            let waypoints = Waypoints()
            let client = try emulator.makeClient { $0.transport = try waypoints.transport() }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            try await activation.requestToken("possession_universal")
            let clock = ManualClock()
            let service = OperationsService(activation: activation, configuration: .on(clock))
            for number in 1...2 {
                let start = Door()
                let polling = Task {
                    await start.pass()
                    try await service.poll()
                }
                waypoints.arm(number) { polling.cancel() }
                start.open()
                try await polling.value
                #expect(!service.isPolling)
            }
            waypoints.arm(nil)
            let polling = Task { try await service.poll() }
            await clock.waitForSleepers(1)
            try await polling.stop()
            await until { clock.sleeperCount == 0 }
            #expect(try await service.operations() == [])
        }
    }

    // MARK: -

    /// Starts a call on a new activation, has it cancelled, and looks whether all is in order.
    ///
    /// - Returns: A check that is `true` if nothing of the SDK holds the activation and its service any more.
    private func run(
        _ call: Call,
        on emulator: Emulator,
        _ transport: any HTTPTransport,
        cancelling: (_ start: Door, _ task: Task<Void, any Error>) async throws -> Void
    ) async throws -> @Sendable () -> Bool {
        let client = try emulator.makeClient { $0.transport = transport }
        let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
        let message = try await emulator.cloud.createMessage(
            .init(userID: "alice", subject: "s", summary: "s", body: "b")
        ).id
        let made = try await emulator.cloud.createOperation("login", userID: "alice")
        let device = Device(
            emulator: emulator,
            client: client,
            activation: activation,
            service: client.makeOperationsService(for: activation),
            operation: try await OperationsService(activation: activation).detail(id: made.id),
            messageID: message
        )
        // The call meets all of its requests again, that for the token too.
        try await activation.removeTokenLocally("possession_universal")
        let start = Door()
        let task = Task {
            await start.pass()
            try await call.body(device)
        }
        try await cancelling(start, task)

        try await activation.validate(.twoFactors)
        _ = try await device.service.operations()
        let status = try await activation.status()
        #expect(status.state == .active)
        #expect(status.failedAttempts == 0)
        #expect(status.counter.distance == 0)
        return { [weak activation, weak service = device.service] in activation == nil && service == nil }
    }
}
