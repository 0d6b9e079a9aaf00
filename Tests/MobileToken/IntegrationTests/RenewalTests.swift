import ExactJSON
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing

/// A token that the server forgot is fetched anew, once.
@Suite(.timeLimit(.minutes(5))) struct RenewalTests {
    @Test func aTokenThatTheServerForgotIsRenewedOnce() async throws {
        try await withEmulator { emulator in
            let (observer, store) = (RecordingObserver(), ActivationStore.inMemory())
            let client = try emulator.makeClient {
                $0.observer = observer
                $0.store = store
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let service = client.makeOperationsService(for: activation)
            try await service.operations()
            // Another process with the same store removes the token; this one does not know yet.
            let other = try await emulator.makeClient { $0.store = store }.activation(id: activation.activationID)
            try await other.removeToken("possession_universal")

            let position = await emulator.journalPosition
            try await service.operations()
            #expect(
                await emulator.requests(to: "**/operation/list", since: position).map(\.isAccepted) == [false, true]
            )
            #expect(await emulator.requests(to: "**/token/create", since: position).count == 1)
            #expect(observer.retries == [.tokenRenewed])
            try await service.operations()
            #expect(await emulator.requests(to: "**/token/create", since: position).count == 1)
        }
    }

    @Test func aTemporaryKeyThatTheServerForgotIsFetchedOnce() async throws {
        try await withEmulator { emulator in
            let observer = RecordingObserver()
            let client = try emulator.makeClient { $0.observer = observer }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            _ = try await activation.userInfo()
            await emulator.clock.advance(by: .seconds(301))
            let position = await emulator.journalPosition
            #expect(try await activation.userInfo()["sub"] == "alice")
            #expect(await emulator.requests(to: "**/user/info", since: position).map(\.isAccepted) == [false, true])
            #expect(await emulator.requests(to: "**/keystore/create", since: position).count == 1)
            #expect(observer.retries == [.temporaryKeyRenewed])
        }
    }

    @Test func aSignedRequestUnderAForgottenKeyIsSignedAnewAndTheCounterStaysInStep() async throws {
        try await withEmulator { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: password)
            let key = try await activation.deriveDataKey(index: 1, with: .twoFactors)
            await emulator.clock.advance(by: .seconds(301))
            let position = await emulator.journalPosition
            #expect(try await activation.deriveDataKey(index: 1, with: .twoFactors) == key)
            #expect(await emulator.requests(to: "**/vault/unlock", since: position).map(\.isAccepted) == [false, true])
            #expect(await emulator.requests(to: "**/keystore/create", since: position).count == 1)
            // The server opens the envelope first, so the signature of the refused request was not looked at.
            try await activation.validate(.twoFactors)
            #expect(try await activation.status().counter.distance == 0)
        }
    }
}
