import Basics

/// The operations that an agent has decided, about as many as in a day.
///
/// An old or replayed list may still name a forgotten one as pending.
struct DecidedOperations: Sendable {
    private struct Name: Hashable {
        let activationID: ExactString
        let operationID: ExactString
    }

    private static let limit = 10_000
    private var names: Set<Name> = []
    private var order = FIFO<Name>()

    mutating func insert(_ operationID: ExactString, of activationID: ExactString) {
        let name = Name(activationID: activationID, operationID: operationID)
        guard self.names.insert(name).inserted else { return }
        self.order.append(name)
        if self.names.count > Self.limit, let oldest = self.order.popFirst() { self.names.remove(oldest) }
    }

    func contains(_ operationID: String, of activationID: String) -> Bool {
        self.names.contains(Name(activationID: ExactString(activationID), operationID: ExactString(operationID)))
    }
}
