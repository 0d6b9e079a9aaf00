import Testing

import PowerAuth
@testable import PowerAuthClient

/// The meaning of each distance between the counters, for servers of several windows and counters about to wrap around.
@Suite struct CounterLedgerTests {
    private let transportKey = SecretBytes(copying: [UInt8](repeating: 2, count: 16))

    /// A counter that the server was last known to be in step with at this counter byte.
    private func ledger(byte: UInt8) -> CounterLedger {
        var ledger = CounterLedger(
            counter: .version3(HashCounter(data: SecretBytes(copying: [UInt8](repeating: 6, count: 16)), byte: byte)),
            history: CounterHistory(moves: 500, confirmedMoves: 499)
        )
        ledger.confirm()
        return ledger
    }

    private func status(_ counter: SigningCounter, window: UInt8) throws -> ActivationStatusBlob {
        ActivationStatusBlob(
            state: .active,
            currentVersion: ActivationStatusBlob.version3,
            counterByte: counter.byte,
            failedAttempts: 0,
            maxFailedAttempts: 5,
            lookAhead: window,
            counterHash: try counter.hash(key: HashCounter.hashKey(transportKey: self.transportKey))
        )
    }

    private func compare(
        _ ledger: inout CounterLedger,
        with server: SigningCounter,
        window: UInt8
    ) throws -> CounterComparison {
        let status = try self.status(server, window: window)
        return try ledger.compare(
            with: ReportedCounter(status, key: HashCounter.hashKey(transportKey: self.transportKey))
        )
    }

    // MARK: Comparing

    @Test(arguments: [1, 5, 20, 64], [0, 3, 130, 255] as [UInt8])
    func aServerAheadIsFollowedWithinItsWindowAndShowsARollbackBeyond(window: Int, byte: UInt8) throws {
        for steps in 1...80 {
            var ledger = self.ledger(byte: byte)
            let (before, server) = (ledger, ledger.counter.advanced(by: steps))
            let comparison = try self.compare(&ledger, with: server, window: UInt8(window))
            #expect(comparison.distance == -steps)
            #expect(comparison.window == window)
            if steps < window {
                #expect(comparison.result == .movedForward(steps))
                #expect(comparison.canSign)
                #expect(ledger.counter == server)
                #expect(ledger.history.unconfirmedMoves == 0)
                #expect(ledger.isUnsettled == before.isUnsettled)
            } else {
                #expect(comparison.result == .rolledBack)
                #expect(!comparison.canSign)
                #expect(ledger.counter == before.counter)
                #expect(ledger.isUnsettled)
            }
        }
    }

    @Test(arguments: [1, 5, 20, 64], [0, 3, 130, 255] as [UInt8])
    func aClientAheadSignsWithinTheWindowAndIsInDeadlockBeyond(window: Int, byte: UInt8) throws {
        for steps in 0...80 {
            var ledger = self.ledger(byte: byte)
            let server = ledger.counter
            for _ in 0..<steps { ledger.counter = ledger.counter.next() }
            let before = ledger
            let comparison = try self.compare(&ledger, with: server, window: UInt8(window))
            #expect(comparison.distance == steps)
            switch steps {
            case ...(window / 2): #expect(comparison.result == .inSync)
            case ...window: #expect(comparison.result == .signatureRecommended)
            default: #expect(comparison.result == .deadlock)
            }
            #expect(comparison.canSign == (steps <= window))
            #expect(ledger.counter == before.counter)
            #expect(ledger.isUnsettled == (steps > window))
        }
    }

    @Test func aCounterOfAnotherLineIsADeadlock() throws {
        var ledger = self.ledger(byte: 7)
        let stranger = SigningCounter.version3(HashCounter(data: ledger.counter.advanced(by: 300).data, byte: 7))
        #expect(try self.compare(&ledger, with: stranger, window: 20).result == .deadlock)
    }

    /// 200 steps ahead reads as 56 steps behind; only what the server had confirmed tells that it cannot be behind.
    @Test func aServerFarAheadIsNotTakenForOneThatLags() throws {
        var ledger = self.ledger(byte: 10)
        #expect(try self.compare(&ledger, with: ledger.counter.advanced(by: 200), window: 20).result == .rolledBack)
    }

    // MARK: Taking

    @Test func aTakenValueIsSpentAndLeavesTheLedgerUnsettled() throws {
        var ledger = self.ledger(byte: 255)
        let start = ledger.counter
        let taken = try #require(try ledger.take(.notRequired, confirmed: nil))
        #expect(taken == CounterLedger.Reservation(value: start, next: start.next(), moves: 501, unconfirmedMoves: 1))
        #expect(ledger.counter == start.next())
        #expect(ledger.isUnsettled)
        #expect(ledger.history == CounterHistory(moves: 501, confirmedMoves: 500))
    }

    @Test func anUnsettledLedgerGivesAValueOnlyWhereItWasSettled() throws {
        var ledger = self.ledger(byte: 0)
        let first = try #require(try ledger.take(.ifSettled(at: nil), confirmed: nil))
        let before = ledger
        #expect(try ledger.take(.ifSettled(at: nil), confirmed: nil) == nil)
        #expect(try ledger.take(.ifSettled(at: first.value), confirmed: nil) == nil)
        #expect(ledger == before, "a refused value was taken")
        #expect(try ledger.take(.ifSettled(at: first.next), confirmed: nil)?.value == first.next)
        #expect(try ledger.take(.notRequired, confirmed: nil) != nil)
    }

    @Test func aTakenValueConfirmsTheMovesBeforeItWhenItWasTheServers() throws {
        for unconfirmed in 0...25 {
            var ledger = self.ledger(byte: 250)
            for _ in 0..<unconfirmed { _ = try ledger.take(.notRequired, confirmed: nil) }
            var confirmed = ledger
            _ = try ledger.take(.notRequired, confirmed: ledger.counter.next())
            #expect(ledger.history.unconfirmedMoves == UInt64(unconfirmed) + 1)
            _ = try confirmed.take(.notRequired, confirmed: confirmed.counter)
            #expect(confirmed.history.unconfirmedMoves == 1)
        }
    }

    @Test func onlyWhatIsSentCanBeLost() throws {
        var ledger = self.ledger(byte: 0)
        _ = try ledger.take(.notRequired, confirmed: nil, isSent: false)
        #expect(ledger.unseenSignatures == 0)
        _ = try ledger.take(.notRequired, confirmed: nil)
        #expect(ledger.unseenSignatures == 1)
        ledger.confirm()
        #expect(ledger.unseenSignatures == 0)
    }

    // MARK: A state that was put back

    @Test func aStateBehindItsMarkCatchesUpAndOneAheadStays() throws {
        for difference in -25...25 {
            var ledger = self.ledger(byte: 250)
            let before = ledger
            ledger.catchUp(to: UInt64(500 + difference))
            #expect(ledger.counter == before.counter.advanced(by: max(0, difference)))
            #expect(ledger.isUnsettled == (difference > 0))
            #expect(!ledger.isRolledBack)
            #expect(try ledger.take(.notRequired, confirmed: nil) != nil)
        }
    }

    @Test(arguments: [-25, -1, 0, 1, 25]) func aStateTooFarBehindItsMarkGivesNoValue(difference: Int) throws {
        var ledger = CounterLedger(
            counter: self.ledger(byte: 0).counter,
            history: CounterHistory(moves: .max - 200_000)
        )
        let before = ledger
        ledger.catchUp(to: .max - 200_000 + UInt64(Int64(CounterLedger.longestCatchUp) + Int64(difference)))
        #expect(ledger.isUnsettled)
        #expect(ledger.isRolledBack == (difference > 0))
        guard difference > 0 else { return }
        #expect(ledger.counter == before.counter)
        expectError(.stateRolledBack) { try ledger.take(.notRequired, confirmed: nil) }
    }

    // MARK: What the process knows

    private func comparison(_ result: CounterComparison.Result, _ distance: Int)
        -> CounterComparison
    {
        CounterComparison(result: result, distance: distance, window: 20)
    }

    @Test func anAcceptedSignatureSettlesTheCounterAndAnotherOneDoesNot() throws {
        var ledger = self.ledger(byte: 0)
        var knowledge = CounterKnowledge()
        let taken = try #require(try ledger.take(.notRequired, confirmed: nil))
        knowledge.signed(with: taken)
        #expect(knowledge.settled == nil)
        #expect(try ledger.take(.ifSettled(at: knowledge.settled), confirmed: nil) == nil)
        knowledge.accepted(taken)
        #expect(knowledge.settled == taken.next)
        #expect(knowledge.confirmed == taken.next)
        knowledge.forget()
        #expect(try ledger.take(.ifSettled(at: knowledge.settled), confirmed: nil) == nil)
    }

    @Test func aComparisonSettlesTheCounterUnlessASignatureIsNeededOrNothingHelps() throws {
        let counter = self.ledger(byte: 0).counter
        for distance in -25...25 {
            var knowledge = CounterKnowledge()
            let result: CounterComparison.Result = distance < 0 ? .movedForward(-distance) : .inSync
            #expect(try knowledge.apply(self.comparison(result, distance), counter: counter) == .sign)
            #expect(knowledge.settled == counter)
            #expect(knowledge.confirmed == (distance == 0 ? counter : nil))
        }
        var knowledge = CounterKnowledge()
        #expect(
            try knowledge.apply(self.comparison(.signatureRecommended, 15), counter: counter) == .letServerCatchUp
        )
        expectError(.deadlock) { try knowledge.apply(self.comparison(.deadlock, 30), counter: counter) }
        expectError(.stateRolledBack) { try knowledge.apply(self.comparison(.rolledBack, -30), counter: counter) }
        #expect(knowledge == CounterKnowledge())
    }

    @Test(arguments: [true, false], 0...2)
    func aRefusalIsExplainedByACounterThatMovedOrByAServerOneStepAhead(clears: Bool, failedAttempts: Int) throws {
        var ledger = self.ledger(byte: 0)
        var knowledge = CounterKnowledge()
        knowledge.signed(with: try #require(try ledger.take(.notRequired, confirmed: nil)))
        func isExplained(_ distance: Int, _ counter: SigningCounter) -> Bool {
            knowledge.explainsRefusal(
                self.comparison(.inSync, distance),
                counter: counter,
                clearsFailedAttempts: clears,
                failedAttempts: failedAttempts
            )
        }
        for distance in -25...25 {
            #expect(isExplained(distance, ledger.counter.next()))
            #expect(isExplained(distance, ledger.counter) == (distance == 0 && (!clears || failedAttempts > 0)))
        }
    }

    // MARK: A store that was put back

    @Test func aStateThatWasPutBackSignsNothingBeforeItIsCompared() throws {
        var ledger = self.ledger(byte: 250)
        ledger.notePutBack()
        let before = ledger
        let counter = ledger.counter
        let taken = try ledger.take(.ifSettled(at: counter), confirmed: counter)
        #expect(taken == nil)
        // Put back since a comparison, it is compared anew.
        let takenAfterComparison = try ledger.take(.compared, confirmed: counter)
        #expect(takenAfterComparison == nil)
        expectError(.stateRolledBack) { try ledger.take(.notRequired, confirmed: nil) }
        #expect(ledger == before)
    }

    /// As of an upgrade that the server has forgotten, in a store that was restored meanwhile.
    @Test(arguments: [false, true]) func aFormerCounterIsPutBackWithTheLaterOne(isPutBack: Bool) {
        let former = self.ledger(byte: 0)
        var later = self.ledger(byte: 250)
        later.counter = later.counter.next()
        if isPutBack { later.notePutBack() }
        let ledger = former.caughtUp(with: later)
        #expect(ledger.wasPutBack == isPutBack)
        #expect(ledger.history.moves == later.history.moves)
    }

    @Test(arguments: 0..<20) func whatMayHaveBeenUsedIsPassedOver(steps: Int) throws {
        var ledger = self.ledger(byte: 250)
        ledger.notePutBack()
        let server = ledger.counter.advanced(by: steps)
        let comparison = try self.compare(&ledger, with: server, window: 20)
        #expect(comparison.canSign)
        #expect(ledger.counter == server.advanced(by: CounterLedger.putBackAllowance))
        #expect(!ledger.wasPutBack)
        let taken = try ledger.take(.notRequired, confirmed: nil)
        #expect(taken?.value == server.advanced(by: 10))
    }

    /// Passing over must not lead out of the server's window.
    @Test(arguments: 0...20) func aStateThatWasPutBackAheadOfTheServerStaysInItsWindow(ahead: Int) throws {
        var ledger = self.ledger(byte: 250)
        let server = ledger.counter
        ledger.counter = server.advanced(by: ahead)
        ledger.notePutBack()
        let comparison = try self.compare(&ledger, with: server, window: 20)
        let expected = max(ahead, 10)
        #expect(ledger.counter == server.advanced(by: expected))
        #expect(comparison.distance == expected)
    }

    /// One restore may be noticed twice, and a volume be put back twice.
    @Test func aStateThatIsPutBackAgainAndAgainIsNotMovedFurtherEachTime() throws {
        var ledger = self.ledger(byte: 250)
        let server = ledger.counter.advanced(by: 3)
        for _ in 0..<5 {
            ledger.notePutBack()
            let comparison = try self.compare(&ledger, with: server, window: 20)
            #expect(comparison.canSign)
            #expect(ledger.counter == server.advanced(by: 10))
        }
    }

    @Test func aStateThatWasPutBackTooFarStaysLost() throws {
        var ledger = self.ledger(byte: 250)
        ledger.notePutBack()
        let comparison = try self.compare(&ledger, with: ledger.counter.advanced(by: 20), window: 20)
        #expect(comparison.result == .rolledBack)
        #expect(ledger.wasPutBack)
    }
}
