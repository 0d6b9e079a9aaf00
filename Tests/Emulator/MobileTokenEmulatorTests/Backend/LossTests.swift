import ExactJSON
import Foundation
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// A network that loses and repeats: client and server must keep agreeing on the counter and on every decision.
@Suite(.timeLimit(.minutes(5))) struct LossTests {
    private enum Fate: CaseIterable {
        case delivered, requestLost, answerLost, deliveredTwice
    }

    @Test(arguments: ProtocolVersion.version3, [1, 2, 3] as [UInt64])
    func everyDecisionIsMadeOnceWhateverTheNetworkDoes(version: ProtocolVersion, seed: UInt64) throws {
        var random = SeededRandomness(seed: seed)
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(version: version) }
        var signed: UInt64 = 1  // the token's
        var approved: Set<String> = []
        var lostInARow = 0
        for _ in 0..<60 {
            fixture.advance(seconds: 1)
            let operation = try fixture.operation("login_1FA", ["expiresIn": 100_000])
            let body: JSONValue = ["requestObject": ["id": .string(operation.id), "data": .string(operation.data)]]
            let header = try device.codeHeader(
                .possession,
                uriID: "/operation/authorize",
                body: body.serialized()
            )
            signed += 1
            func deliver() -> String {
                let path = "/api/auth/token/app/operation/authorize"
                return fixture.send(path, headers: [header], json: body).outcome
            }
            // Nineteen losses in a row are what the look-ahead bridges.
            var fate = Fate.allCases.randomElement(using: &random) ?? .delivered
            if lostInARow == 19 { fate = .delivered }
            switch fate {
            case .requestLost:
                lostInARow += 1
                continue
            case .delivered, .answerLost:
                #expect(deliver() == "200 OK")
            case .deliveredTwice:
                #expect(deliver() == "200 OK")
                // The code was used, and what it would be counted on is decided.
                #expect(deliver() == "400 INVALID_OPERATION")
            }
            lostInARow = 0
            approved.insert(operation.id)
            #expect(fixture.backend.activations[0].counter == signed)
        }
        let decided = fixture.backend.operations(at: .now).filter { $0.status == .approved }.map(\.id)
        #expect(Set(decided) == approved)
        #expect(fixture.backend.activations[0].status == .active)
        #expect(device.operations(in: &fixture).count == 60 - approved.count)
    }
}
