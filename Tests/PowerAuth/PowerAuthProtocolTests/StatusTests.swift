import MobileTokenTesting
import PowerAuthCrypto
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StatusTests {
    private struct Fixture {
        let transportKey: SecretBytes
        let challenge: [UInt8]
        let nonce: [UInt8]
        let counter: HashCounter

        init(using generator: inout SeededGenerator) {
            self.transportKey = generator.secret(16)
            self.challenge = generator.bytes(16)
            self.nonce = generator.bytes(16)
            self.counter = HashCounter(data: generator.secret(16), byte: UInt8.random(in: 0...255, using: &generator))
        }

        func blob(server: HashCounter, lookAhead: UInt8 = 20) throws -> ActivationStatusBlob {
            ActivationStatusBlob(
                state: .active,
                currentVersion: ActivationStatusBlob.version3,
                flags: ActivationStatusBlob.Flags(rawValue: 1),
                reserved: [2, 3, 4, 5],
                counterByte: server.byte,
                failedAttempts: 1,
                maxFailedAttempts: 5,
                lookAhead: lookAhead,
                counterHash: try server.hash(transportKey: self.transportKey)
            )
        }

        func synchronization(
            client: HashCounter,
            server: HashCounter,
            lookAhead: UInt8 = 20
        ) throws -> CounterSynchronization<HashCounter> {
            try CounterSynchronization(
                client: client,
                status: try self.blob(server: server, lookAhead: lookAhead),
                key: HashCounter.hashKey(transportKey: self.transportKey)
            )
        }
    }

    @Test(arguments: ActivationState.allCases) func roundTrip(state: ActivationState) throws {
        var generator = SeededGenerator()
        let fixture = Fixture(using: &generator)
        var blob = try fixture.blob(server: fixture.counter)
        blob.state = state
        let (key, challenge, nonce) = (fixture.transportKey, fixture.challenge, fixture.nonce)
        let encrypted = try blob.encrypted(transportKey: key, challenge: challenge, nonce: nonce)
        #expect(encrypted.count == 32)
        let received = try ActivationStatusBlob(
            decrypting: encrypted,
            transportKey: key,
            challenge: challenge,
            nonce: nonce
        )
        #expect(received == blob, "\(generator)")
    }

    /// The blob has no code against changes. What decides, its first block, does not survive one; a change in the second one
    /// spoils the counter hash, and so can never be taken for a counter in step.
    @Test func anyBitFlippedIsRefusedOrSpoilsTheCounterHash() throws {
        var generator = SeededGenerator()
        let fixture = Fixture(using: &generator)
        let (key, challenge, nonce) = (fixture.transportKey, fixture.challenge, fixture.nonce)
        let encrypted = try fixture.blob(server: fixture.counter)
            .encrypted(transportKey: key, challenge: challenge, nonce: nonce)
        let hashKey = try HashCounter.hashKey(transportKey: key)
        for (index, changed) in encrypted.withOneBitFlipped.enumerated() {
            let open = {
                try ActivationStatusBlob(decrypting: changed, transportKey: key, challenge: challenge, nonce: nonce)
            }
            guard index >= 16 * 8 else {
                #expect(throws: ActivationStatusError.notABlob, "\(generator)", performing: { try open() })
                continue
            }
            let result = try CounterSynchronization(client: fixture.counter, status: try open(), key: hashKey)
            #expect(result.outcome == .deadlock, "\(generator)")
        }
        for changed in challenge.withOneBitFlipped {
            #expect(throws: ActivationStatusError.notABlob, "\(generator)") {
                try ActivationStatusBlob(decrypting: encrypted, transportKey: key, challenge: changed, nonce: nonce)
            }
        }
        for changed in nonce.withOneBitFlipped {
            #expect(throws: ActivationStatusError.notABlob, "\(generator)") {
                try ActivationStatusBlob(decrypting: encrypted, transportKey: key, challenge: challenge, nonce: changed)
            }
        }
    }

    @Test func impossibleBlobsAreRefused() throws {
        var generator = SeededGenerator()
        let fixture = Fixture(using: &generator)
        let good = try fixture.blob(server: fixture.counter).bytes
        #expect(throws: ActivationStatusError.invalidLength) { try ActivationStatusBlob(bytes: good + [0]) }
        for state in [0, 6, 255] as [UInt8] {
            var bytes = good
            bytes[4] = state
            #expect(throws: ActivationStatusError.invalid(field: "state")) { try ActivationStatusBlob(bytes: bytes) }
        }
        for count in [0, 15, 16, 31, 33, 48] {
            #expect(throws: ActivationStatusError.invalidLength) {
                try ActivationStatusBlob(
                    decrypting: generator.bytes(count),
                    transportKey: fixture.transportKey,
                    challenge: fixture.challenge,
                    nonce: fixture.nonce
                )
            }
        }
    }

    @Test(arguments: [1, 2, 5, 20, 64] as [UInt8])
    func everyDistanceHasItsOutcome(lookAhead: UInt8) throws {
        var generator = SeededGenerator()
        let fixture = Fixture(using: &generator)
        let window = Int(lookAhead)
        for distance in -100...100 {
            let base = fixture.counter
            let client = base.advanced(by: max(0, distance))
            let server = base.advanced(by: max(0, -distance))
            let result = try fixture.synchronization(client: client, server: server, lookAhead: lookAhead)
            let expected: CounterSynchronization<HashCounter>.Outcome =
                switch distance {
                case 0: .inSync
                case (-window + 1)..<0: .movedForward(-distance, server)
                case ..<0: .deadlock
                case ...(window / 2): .inSync
                case ...window: .signatureRecommended
                default: .deadlock
                }
            #expect(result.outcome == expected, "\(generator), distance \(distance)")
            #expect(result.distance == distance)
            #expect(result.window == window)
        }
    }

    @Test func everyVersionOfTheFormatFromD1ToDFIsRead() throws {
        var generator = SeededGenerator()
        let fixture = Fixture(using: &generator)
        let blob = try fixture.blob(server: fixture.counter)
        for format in UInt8.min...UInt8.max {
            var bytes = blob.bytes
            bytes[3] = format
            if (0xD1...0xDF).contains(format) {
                #expect(try ActivationStatusBlob(bytes: bytes) == blob)
            } else {
                #expect(throws: ActivationStatusError.notABlob) { try ActivationStatusBlob(bytes: bytes) }
            }
        }
    }

    @Test(arguments: UInt8.min...UInt8.max) func aLookAheadThatNoServerHasIsAnAttack(lookAhead: UInt8) throws {
        var generator = SeededGenerator()
        let fixture = Fixture(using: &generator)
        let bytes = try fixture.blob(server: fixture.counter, lookAhead: lookAhead).bytes
        if (1...64).contains(lookAhead) {
            #expect(try ActivationStatusBlob(bytes: bytes).lookAhead == lookAhead)
        } else {
            #expect(throws: ActivationStatusError.invalid(field: "lookAhead")) {
                try ActivationStatusBlob(bytes: bytes)
            }
        }
    }

    /// The hash names one counter and the byte another: no counter of the server's ever was both.
    @Test(arguments: [0, 1, 19], [1, 3, 127, 128, 253, 255] as [UInt8])
    func aHashThatMatchesWhileTheByteDisagreesIsADeadlock(steps: Int, off: UInt8) throws {
        var generator = SeededGenerator()
        let fixture = Fixture(using: &generator)
        var status = try fixture.blob(server: fixture.counter.advanced(by: steps))
        status.counterByte &+= off
        let result = try CounterSynchronization(
            client: fixture.counter,
            status: status,
            key: HashCounter.hashKey(transportKey: fixture.transportKey)
        )
        #expect(result.outcome == .deadlock)
        #expect(result.isContradictory)
    }

    @Test func countersOfAnotherLineAreADeadlock() throws {
        var generator = SeededGenerator()
        let fixture = Fixture(using: &generator)
        let stranger = HashCounter(data: generator.secret(16), byte: fixture.counter.byte)
        let result = try fixture.synchronization(client: stranger, server: fixture.counter)
        #expect(result.outcome == .deadlock, "\(generator)")
    }

    @Test(arguments: [0, 1, 2, 4, 5, 255] as [UInt8])
    func anActivationOfAnotherVersionIsRefusedByThatVersion(version: UInt8) throws {
        var generator = SeededGenerator()
        var blob = try Fixture(using: &generator).blob(server: HashCounter(data: generator.secret(16)))
        blob.upgradeVersion = 4
        #expect(try ActivationStatusBlob(bytes: blob.bytes) == blob)  // an offer
        blob.currentVersion = version
        #expect(throws: ActivationStatusError.unsupportedVersion(version)) {
            try ActivationStatusBlob(bytes: blob.bytes)
        }
    }
}
