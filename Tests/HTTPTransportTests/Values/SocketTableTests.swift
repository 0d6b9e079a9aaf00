import Testing

@testable import HTTPTransport

@Suite struct SocketTableTests {
    @Test func aKeptSocketStaysRegisteredBetweenTransfers() {
        var table = SocketTable()
        table.opened(5)
        #expect(table.want(4, on: 5) == .add(4))
        #expect(table.want(1, on: 5) == .modify(1))
        #expect(table.want(0, on: 5) == .none)
        #expect(table.want(1, on: 5) == .none)
        #expect(table.ready(5) == .tellCurl)
    }

    @Test func aKeptSocketThatGetsReadyUnwantedIsTakenOut() {
        var table = SocketTable()
        table.opened(5)
        _ = table.want(1, on: 5)
        _ = table.want(0, on: 5)
        #expect(table.ready(5) == .delete)
        #expect(table.want(1, on: 5) == .add(1))
    }

    @Test func aNumberGivenToAnotherSocketIsRegisteredAnew() {
        var table = SocketTable()
        table.opened(5)
        _ = table.want(1, on: 5)
        _ = table.want(0, on: 5)
        table.closed(5)
        table.opened(5)
        #expect(table.want(1, on: 5) == .add(1))
    }

    @Test func aSocketWhoseEndWeDoNotHearOfIsTakenOutAtOnce() {
        var table = SocketTable()
        #expect(table.want(1, on: 9) == .add(1))
        #expect(table.want(0, on: 9) == .delete)
        #expect(table.want(0, on: 9) == .none)
        #expect(table.want(1, on: 9) == .add(1))
    }
}
