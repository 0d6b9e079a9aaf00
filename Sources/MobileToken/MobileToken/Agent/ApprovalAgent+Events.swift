import Basics

extension ApprovalAgent {
    /// Waits until an operation is left to people.
    ///
    /// ```swift
    /// let reason = await agent.leaveReason(of: operation.id)  // at once when it is left already
    /// ```
    ///
    /// - Parameters:
    ///   - operationID: The operation's identifier.
    ///   - activationID: The activation that leaves it, if several of a fleet list it; `nil` for the first one.
    /// - Returns: The reason; `nil` if the operation is decided or over instead, the run ends, or the task is canceled.
    package nonisolated func leaveReason(of operationID: String, by activationID: String? = nil) async -> LeaveReason? {
        for await event in self.events() where event.operation?.id.isExactly(operationID) == true {
            guard activationID.map({ event.activationID.isExactly($0) }) ?? true else { continue }
            switch event.kind {
            case .left(let reason): return reason
            case .decided, .refused, .unknown, .finishedElsewhere, .gone: return nil
            case .judged, .retrying, .waiting, .unanswered, .stopped, .resumed, .unreadable, .stateChanged: continue
            }
        }
        return nil
    }
}
