import ExactJSON
import Foundation
import MobileTokenTesting
import PowerAuthCrypto
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// Numbers that no arithmetic can hold, wherever somebody can give the server one.
@Suite(.timeLimit(.minutes(5))) struct ExtremeNumberTests {
    private static let numbers = [
        "1e-9223372036854775808", "1e9223372036854775808", "-1e-9223372036854775808", "9223372036854775807",
        "-9223372036854775808", "1e18", "-0", "1e-400", "1e400", String(repeating: "9", count: 300),
    ]

    @Test(arguments: Self.numbers) func aTimestampWithoutAuthenticationIsRefused(number: String) async throws {
        try await withEmulator { emulator async throws in
            let key = P256PrivateKey.generate().publicKey
            let envelope = """
                {"ephemeralPublicKey":"\(Base64.encode(key.compressed))","encryptedData":"AAAAAAAAAAAAAAAAAAAAAA==",\
                "mac":"AAAA","nonce":"AAAAAAAAAAAAAAAAAAAAAA==","timestamp":\(number)}
                """
            for version in ProtocolVersion.version3 {
                let key = emulator.applicationKey
                let header = EncryptionHeader(applicationKey: key, activationID: nil, version: version).value
                let headers = ["\(EncryptionHeader.name): \(header)"]
                let path = "/pa/v3/activation/create"
                #expect(try await emulator.send("POST", path, headers: headers, body: envelope).status == 400)
            }
            #expect(try await emulator.send("POST", "/pa/v3/status").status == 200)
        }
    }

    @Test(arguments: Self.numbers) func aTimeOfTheControlAPIIsKeptOrRefused(number: String) async throws {
        try await withEmulator { emulator async throws in
            for member in ["timestampExpires", "expiresIn"] {
                let body = #"{"template":"login","userId":"alice","\#(member)":\#(number)}"#
                let response = try await emulator.bank("POST", "/v2/operations", body)
                #expect([200, 400].contains(response.status))
            }
            for body in [#"{"advance":\#(number)}"#, #"{"mode":"manual","advance":\#(number)}"#] {
                let response = try await emulator.send("PUT", "/_emulator/clock", body: body)
                #expect([200, 400].contains(response.status))
                #expect(try await emulator.send("GET", "/_emulator/operations").status == 200)
            }
        }
    }

    @Test func anAmountOfManyDigitsIsWrittenAtOnce() throws {
        func written(_ digits: Int) -> String? {
            let amount = "-" + String(repeating: "7", count: digits)
            return MonetaryFormat.members(amount, "CZK", for: .english) { $0 }["AmountFormatted"]?.string
        }
        let amount = try #require(written(99_999))
        #expect(amount.hasPrefix("-777,777,") && amount.hasSuffix(",777.00"))
        #expect(amount.utf8.count == 1 + 99_999 + 33_332 + 3)
        // A longer one is not taken for a number.
        #expect(written(100_001)?.contains(",") == false)
    }

    @Test(arguments: [.nan, .infinity, -.infinity, 1e300, -1e300] as [Double])
    func anyDateAndAnyIntervalHaveMilliseconds(seconds: Double) {
        #expect((0...9_000_000_000_000_000).contains(Date(timeIntervalSince1970: seconds).milliseconds))
        #expect((0...9_000_000_000_000_000).contains(seconds.inMilliseconds))
    }

    @Test(arguments: [.nan, .infinity, -.infinity, 1e300, -1e300] as [Double])
    func anyClockSkewIsSomeTime(skew: Double) async throws {
        try await withEmulator { emulator async throws in
            await emulator.faults.set([FaultRule(effect: .init(clockSkew: skew))])
            #expect(try await emulator.send("POST", "/pa/v3/status").status == 200)
        }
    }

    @Test(arguments: [.nan, -.infinity, -1] as [Double]) func aDelayThatIsNoneDelaysNothing(delay: Double) async throws
    {
        try await withEmulator { emulator async throws in
            await emulator.faults.set([FaultRule(effect: .init(delay: delay))])
            #expect(try await emulator.send("POST", "/pa/v3/status").status == 200)
        }
    }

    @Test func anEndlessDelayIsADelay() async throws {
        try await withEmulator { emulator async throws in
            await emulator.faults.set([FaultRule(match: .init(first: 1), effect: .init(delay: 1e300))])
            let client = try emulator.connect()
            try await client.send("POST /pa/v3/status HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
            #expect(try await emulator.send("GET", "/_emulator/clock").status == 200)
            withExtendedLifetime(client) {}
        }
    }

    @Test(arguments: [0, -1, .min, 1, 9, .max]) func anyDripWritesSomethingEachSecond(rate: Int) {
        let (portion, pause) = FaultRule.Effect.dripping(bytesPerSecond: rate)
        #expect(portion >= 1)
        #expect((.zero ... .seconds(1)).contains(pause))
    }

    @Test(arguments: [-1, 0, .min, .max]) func aStatusThatIsNoneEndsTheConnection(status: Int) async throws {
        try await withEmulator { emulator async throws in
            await emulator.faults.set([FaultRule(match: .init(first: 1), effect: .init(status: status))])
            _ = try? await emulator.send("POST", "/pa/v3/status")
            #expect(try await emulator.send("POST", "/pa/v3/status").status == 200)
        }
    }

    @Test(arguments: [.seconds(Int64.max), Duration(attoseconds: .max), .seconds(Int64.min)])
    func anImpossibleLifetimeIsRefused(lifetime: Duration) async throws {
        try await withEmulator { emulator async throws in
            let error = await #expect(throws: CloudError.self) {
                try await emulator.cloud.createOperation("login", userID: "alice", lifetime: lifetime)
            }
            #expect(error?.code == .invalidRequest)
            #expect(await emulator.operations().isEmpty)
            await emulator.clock.advance(by: lifetime)
            await emulator.clock.advance(by: .zero - .seconds(Int64.max))
            #expect(try await emulator.send("POST", "/pa/v3/status").status == 200)
        }
    }

    @Test(arguments: ["9223372036854775807", "-9223372036854775808"])
    func importedCountsThatAreAtTheirEndStayThere(count: String) throws {
        var (fixture, device) = try BackendFixture.active()
        let operation = try fixture.operation()
        var document = String(decoding: try fixture.backend.exported(), as: UTF8.self)
        for name in ["failedAttempts", "failures"] {
            document.replace(try Regex("\"\(name)\" : [0-9]+"), with: "\"\(name)\" : \(count)")
        }
        document.replace(/"counter" : [0-9]+/, with: "\"counter\" : 18446744073709551615")
        try fixture.replace(with: Array(document.utf8))
        #expect(fixture.backend.state.activations[device.activationID]?.remainingAttempts ?? -1 >= 0)
        #expect(try device.authorize(operation, in: &fixture).status == 200)
        let next = try fixture.operation()
        device.wrongKnowledge = device.keys?.possession
        #expect(try device.authorize(next, in: &fixture).status == 401)
        _ = try fixture.backend.administer(.advanceCounter(activationID: device.activationID, by: 100_000), at: .now)
    }
}
