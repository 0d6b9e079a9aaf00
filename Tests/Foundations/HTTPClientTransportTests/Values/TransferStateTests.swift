import Testing

@testable import HTTPClientTransport

@Suite struct TransferStateTests {
    private func isStart(_ action: TransferState<Int>.StartAction) -> Bool {
        guard case .start = action else { return false }
        return true
    }

    @Test func anAnswerIsHandedOverOnce() {
        var state = TransferState<Int>()
        #expect(self.isStart(state.start(7)))
        #expect(!state.isFinished)
        #expect(state.finish() == 7)
        #expect(state.isFinished)
        #expect(state.finish() == nil)
        #expect(state.cancel() == nil)
    }

    @Test func cancellationBeforeTheStartIsKeptForIt() {
        var state = TransferState<Int>()
        #expect(state.cancel() == nil)
        #expect(state.cancel() == nil)
        guard case .cancel(7) = state.start(7) else {
            Issue.record("started although cancelled")
            return
        }
        #expect(state.finish() == nil)
        #expect(state.isFinished)
    }

    @Test func cancellationWhileWaitingTakesThePlaceOfTheAnswer() {
        var state = TransferState<Int>()
        _ = state.start(7)
        #expect(state.cancel() == 7)
        #expect(state.cancel() == nil)
        #expect(state.finish() == nil)
    }
}
