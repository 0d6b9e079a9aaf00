import ExactJSON
import MobileToken
import MobileTokenNotifications
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct PushServiceTests {
    private let channel = ScriptedChannel()

    @Test(arguments: [PushService.Platform.apns, .fcm, .hms])
    func aRegistrationIsSentAndRemembered(platform: PushService.Platform) async throws {
        let push = PushService(activation: self.channel)
        #expect(push.registration == nil)
        async let registered: Void = push.register(token: "t0ken", for: platform)
        let request = await self.channel.nextRequest()
        #expect(request.path == "/api/push/device/register/token")
        #expect(request.json == ["requestObject": ["platform": .string(platform.description), "token": "t0ken"]])
        #expect(push.isRegistering)
        request.answer(SampleAnswer.ok)
        try await registered
        #expect(push.registration?.token == "t0ken")
        #expect(push.registration?.platform == platform)
        #expect(!push.isRegistering)
    }

    /// Servers 1.9 fail for the newer names (recordings, mobile: `push platform 'fcm'`, `push platform 'ios'`).
    @Test(arguments: ["1.9.0", "1.10.2", "2.0.0", "2.2.1-SNAPSHOT", "10.0", "x", nil])
    func aPlatformIsNamedAsTheReleaseKnowsIt(version: String?) throws {
        let release = version.flatMap { ServerRelease($0) }
        let isFormer = version?.hasPrefix("1.") == true
        for (platform, former): (PushService.Platform, String) in [
            (.apns, "ios"), (.fcm, "android"), (.hms, "huawei"), (.init("windows"), "windows"),
        ] {
            let body = try OperationRequest.pushRegistration(.init(platform: platform, token: "t"), at: release)
            let name = try JSONValue(parsing: body)["requestObject"]?["platform"]?.string
            #expect(name == (isFormer ? former : platform.description))
        }
    }

    @Test func anEnvironmentGoesWithAPlatformThatHasSome() async throws {
        let push = PushService(activation: self.channel)
        for (platform, environment): (PushService.Platform, PushService.Environment) in [
            (.apns, .development), (.apns, .production), (.init("ios"), .init("sandbox")),
        ] {
            async let registered: Void = push.register(token: "t", for: platform, environment: environment)
            let request = await self.channel.nextRequest()
            #expect(request.json?["requestObject"]?["environment"]?.string == environment.description)
            request.answer(SampleAnswer.ok)
            try await registered
            #expect(push.registration?.environment == environment)
        }
        for platform in [PushService.Platform.fcm, .hms] {
            let error = await #expect(throws: MobileTokenError.self) {
                try await push.register(token: "t", for: platform, environment: .production)
            }
            #expect(error?.code == .invalidConfiguration)
        }
        #expect(self.channel.requestCount == 3)
    }

    @Test func concurrentCallsAreOneAndAnotherTokenHasToWait() async throws {
        let push = PushService(activation: self.channel)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await push.register(token: "one", for: .fcm) } }
            await until { push.waiterCount == 20 }
            let error = await #expect(throws: MobileTokenError.self) {
                try await push.register(token: "two", for: .fcm)
            }
            #expect(error?.code == .pushAlreadyRegistering)
            await self.channel.nextRequest().answer(SampleAnswer.ok)
            try await group.waitForAll()
        }
        #expect(self.channel.requestCount == 1)
        self.channel.setRule { _ in SampleAnswer.ok }
        try await push.register(token: "two", for: .fcm)
        #expect(push.registration?.token == "two")
    }

    @Test func aRefusalIsNamedAndNotRemembered() async {
        let push = PushService(activation: self.channel)
        self.channel.setRule { _ in
            throw MobileTokenError(.serverError, "no", httpStatus: 400, serverCode: "PUSH_REGISTRATION_FAILED")
        }
        let error = await #expect(throws: MobileTokenError.self) { try await push.register(token: "t", for: .apns) }
        #expect(error?.code == .pushRegistrationFailed)
        #expect(push.registration == nil)
        #expect(!push.isRegistering)
    }

    @Test func cancellingEveryCallerTakesTheRequestOffTheWire() async throws {
        let push = PushService(activation: self.channel)
        let callers = (0..<2).map { _ in Task { try await push.register(token: "t", for: .apns) } }
        await until { push.waiterCount == 2 }
        _ = await self.channel.nextRequest()
        for caller in callers {
            await #expect(throws: CancellationError.self) { try await caller.stop() }
        }
        await self.channel.waitForCancelled(1)
        #expect(!push.isRegistering)
        self.channel.setRule { _ in SampleAnswer.ok }
        try await push.register(token: "other", for: .apns)
    }
}
