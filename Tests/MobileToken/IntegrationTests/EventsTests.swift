import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import Testing

/// The elements that a reader of a service's streams gets while the server fails and recovers.
@Suite(.timeLimit(.minutes(5))) struct EventsTests {
    @Test func aFailureIsToldBetweenTwoListsAndChangesNothing() async throws {
        try await withEmulator { emulator in
            let service = OperationsService(
                activation: try await emulator.makeActivation(user: "alice", password: password)
            )
            var events = service.events().makeAsyncIterator()
            let first = try await emulator.cloud.createOperation("login", userID: "alice")
            try await service.operations()
            await emulator.faults.set([
                FaultRule(match: .init(path: "**/operation/list", first: 1), effect: .unavailable(retryAfter: 30))
            ])
            let error = try await #require(throws: MobileTokenError.self) { try await service.operations() }
            #expect(error.httpStatus == 503)
            #expect(error.retryAfter == .seconds(30))
            let second = try await emulator.cloud.createOperation("login", userID: "alice")
            try await service.operations()

            var told: [String] = []
            while told.count < 8, let event = await events.next() { told.append(Self.text(of: event)) }
            #expect(
                told == [
                    "loading", "added \(first.id)", "idle",
                    "loading", "failed \(error.code)", "idle",
                    "loading", "added \(second.id)",
                ]
            )
        }
    }

    private static func text(of event: OperationsService.Event) -> String {
        switch event {
        case .loading(let isLoading): isLoading ? "loading" : "idle"
        case .changed(let change): "added " + change.added.map(\.id).joined(separator: " ")
        case .unreadable(let operations): "unreadable \(operations.map { $0.id ?? "" }.joined(separator: " "))"
        case .failed(let error): "failed \(error.code)"
        }
    }
}
