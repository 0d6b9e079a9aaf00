import Foundation
import MobileTokenTesting
import Testing

/// Values that no server can work with are refused when it starts.
@Suite(.timeLimit(.minutes(5))) struct LimitsTests {
    private static let whole: [(String, any WritableKeyPath<Emulator.Limits, Int> & Sendable, ClosedRange<Int>)] = [
        ("lookAhead", \.lookAhead, 1...64), ("failedAttempts", \.failedAttempts, 1...255),
        ("operationFailures", \.operationFailures, 1...255), ("listLength", \.listLength, 1...10_000),
        ("offlineCodeDigits", \.offlineCodeDigits, 4...8),
    ]
    private static let seconds: [(String, @Sendable (inout Emulator.Limits, Double) -> Void)] = [
        ("activationCodeLifetime", { $0.activationCodeLifetime = $1 }),
        ("tokenTimestampAge", { $0.tokenTimestampAge = $1 }), ("tokenTimestampAhead", { $0.tokenTimestampAhead = $1 }),
        ("encryptionTimestampAhead", { $0.encryptionTimestampAhead = $1 }),
        ("temporaryKeyLifetime", { $0.temporaryKeyLifetime = $1 }),
        ("proximityCodeStep", { $0.proximityCodeStep = $1 }), ("operationLifetime", { $0.operationLifetime = $1 }),
        ("temporaryBlock", { $0.temporaryBlock = $1 }),
    ]

    /// - Returns: The reason why a server does not start with these limits; `nil` when it does.
    private func refusal(_ change: (inout Emulator.Configuration) -> Void) async -> String? {
        var configuration = Emulator.Configuration()
        change(&configuration)
        do {
            let emulator = try await Emulator.start(configuration: configuration)
            await emulator.stop()
            return nil
        } catch {
            #expect(error.code == .invalidConfiguration)
            return error.message
        }
    }

    /// `--password "$unset"` would open the export, with its keys, to whoever reaches the server.
    @Test(arguments: ["127.0.0.1", "0.0.0.0"])
    func anEmptyPasswordIsRefused(host: String) async {
        let refusal = await self.refusal {
            $0.host = host
            $0.cloudPassword = ""
        }
        #expect(refusal == "The password of the cloud API is empty")
    }

    @Test func countsHaveBounds() async throws {
        for (name, path, range) in Self.whole {
            for value in [range.lowerBound, range.upperBound] {
                #expect(await self.refusal { $0.limits[keyPath: path] = value } == nil, "\(name) \(value)")
            }
            for value in [0, -1, .min, .max, range.upperBound + 1] {
                #expect(
                    await self.refusal { $0.limits[keyPath: path] = value }?.contains("'\(name)'") == true,
                    "\(value)"
                )
            }
        }
    }

    @Test func timesHaveBounds() async throws {
        for (name, set) in Self.seconds {
            for value in [0, -1, -0.0, .nan, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude] {
                #expect(
                    await self.refusal { set(&$0.limits, value) }?.contains("'\(name)'") == true,
                    "\(value)"
                )
            }
            #expect(await self.refusal { set(&$0.limits, 1) } == nil)
        }
        #expect(await self.refusal { $0.limits.proximityCodeStep = 1.5 } != nil)
    }

    @Test func capacitiesAreNotNegative() async throws {
        #expect(await self.refusal { $0.capacity.operations = -1 }?.contains("'operations'") == true)
        #expect(await self.refusal { $0.capacity.storedBytes = .max }?.contains("'storedBytes'") == true)
        #expect(await self.refusal { $0.capacity.messages = 0 } == nil)
    }
}
