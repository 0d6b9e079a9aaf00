import MobileToken
import PowerAuth
import Testing

struct FleetBufferTests {
    private var buffer = FleetBuffer()
    private let a = UserOperation(id: "a", name: "login", data: "A2")
    private let b = UserOperation(id: "b", name: "login", data: "A2")

    private mutating func send(_ change: OperationList.Change, of id: String) {
        self.buffer.append(.changed(OperationsFleet.Change(activationID: id, change: change)))
    }

    private mutating func rest() -> [String] {
        var events: [String] = []
        while let event = self.buffer.removeFirst() { events.append(event.text) }
        return events
    }

    @Test mutating func whatHappenedToAnActivationIsMerged() {
        self.buffer.append(.stateChanged(activationID: "1", .init(.starting)))
        self.buffer.append(.stateChanged(activationID: "2", .init(.starting)))
        self.send(OperationList.Change(operations: [self.a], added: [self.a], source: .fetch), of: "1")
        self.send(OperationList.Change(operations: [self.a, self.b], added: [self.b], source: .fetch), of: "1")
        self.buffer.append(.failed(activationID: "1", MobileTokenError(.timeout, "slow")))
        self.buffer.append(.failed(activationID: "1", MobileTokenError(.noConnection, "away")))
        self.buffer.append(.stateChanged(activationID: "1", .init(.active)))
        #expect(self.rest() == ["1 active", "1 +a +b", "1 noConnection", "2 starting"])
        #expect(self.rest() == [])
    }

    @Test mutating func whatCameAndWentIsNoNews() {
        self.send(OperationList.Change(operations: [self.a], added: [self.a], source: .fetch), of: "1")
        let gone = OperationList.Change.Removal(operation: self.a, reason: .disappeared)
        self.send(OperationList.Change(operations: [], removed: [gone], source: .fetch), of: "1")
        #expect(self.rest() == [])
        self.send(OperationList.Change(operations: [self.a], added: [self.a], source: .fetch), of: "1")
        #expect(self.rest() == ["1 +a"])
    }

    @Test mutating func leavingReplacesWhatWasUnreadButTheList() {
        self.send(OperationList.Change(operations: [self.a], added: [self.a], source: .fetch), of: "1")
        #expect(self.buffer.removeFirst()?.text == "1 +a")
        self.buffer.append(.stateChanged(activationID: "1", .init(.active)))
        let gone = OperationList.Change.Removal(operation: self.a, reason: .left)
        self.send(OperationList.Change(operations: [], removed: [gone], source: .departure), of: "1")
        self.buffer.append(.left(activationID: "1"))
        #expect(self.rest() == ["1 -a", "1 left"])
    }

    /// Another process had it meanwhile, and may have decided.
    @Test mutating func whoComesBackHasLeftBefore() {
        self.buffer.append(.stateChanged(activationID: "1", .init(.active)))
        #expect(self.buffer.removeFirst()?.text == "1 active")
        self.buffer.append(.left(activationID: "1"))
        self.buffer.append(.stateChanged(activationID: "1", .init(.starting)))
        self.send(OperationList.Change(operations: [self.a], added: [self.a], source: .fetch), of: "1")
        self.buffer.append(.stateChanged(activationID: "1", .init(.active)))
        #expect(self.rest() == ["1 left", "1 active", "1 +a"])
        // And if it leaves again before that is read, that comes last.
        self.buffer.append(.left(activationID: "1"))
        self.buffer.append(.stateChanged(activationID: "1", .init(.active)))
        self.buffer.append(.left(activationID: "1"))
        #expect(self.rest() == ["1 left"])
    }

    @Test mutating func newSubscribersStartWithStatesAndLists() {
        self.buffer.setState(.init(.starting), of: "1")
        #expect(self.buffer.setList([self.a], of: "1") == false)  // not followed yet
        #expect(self.buffer.follow("1") == true)
        #expect(self.buffer.follow("1") == false)
        #expect(self.buffer.setList([self.a, self.b], of: "1") == true)
        self.buffer.setState(.init(.active), of: "1")
        self.buffer.setState(.init(.starting), of: "2")
        var copy = self
        #expect(copy.rest() == ["1 active", "1 +a +b", "2 starting"])
        #expect(self.buffer.unfollow("1").map(\.id) == ["a", "b"])
        #expect(self.buffer.unfollow("1") == [])
        self.buffer.forget("2")
        #expect(self.rest() == ["1 active"])
    }

    @Test mutating func activationsThatComeAndGoDoNotMakeItGrow() {
        for round in 0..<1000 {
            self.buffer.setState(.init(.active), of: "\(round)")
            self.buffer.forget("\(round)")
        }
        #expect(self.buffer.orderCount <= 128)
        self.buffer.setState(.init(.active), of: "last")
        #expect(self.rest() == ["last active"])
    }
}

extension OperationsFleet.Event {
    var text: String {
        let text =
            switch self {
            case .stateChanged(_, let state): "\(state.phase)"
            case .unreadable(_, let operations): "unreadable \(operations.map { $0.id ?? "" }.joined(separator: " "))"
            case .failed(_, let error): "\(error.code)"
            case .left: "left"
            case .changed(let news):
                (news.change.added.map { "+\($0.id)" } + news.change.removed.map { "-\($0.operation.id)" })
                    .joined(separator: " ")
            }
        return "\(self.activationID) \(text)"
    }
}
