import CPostgreSQL
import Dispatch
import Synchronization

/// Asks the server to give up the statement of a connection.
///
/// libpq 15 can do that only by a call that connects anew and blocks for as long as the server keeps it waiting, a stopped
/// one forever. So it gets a thread of its own; when as many as are bearable wait already, the connection is left to its
/// deadline, which ends it as surely.
struct StatementCancellation: @unchecked Sendable {
    private static let limit = 4
    private static let count = Atomic(0)

    // libpq copies what it needs from the connection, and lets any thread use the copy. This value is used by one.
    private let request: OpaquePointer

    init?(of connection: OpaquePointer) {
        guard let request = PQgetCancel(connection) else { return nil }
        self.request = request
    }

    /// To be called once.
    func send() {
        guard Self.count.add(1, ordering: .relaxed).newValue <= Self.limit else { return self.end() }
        DispatchQueue(label: "cancel-statement").async {
            var message = [CChar](repeating: 0, count: 256)
            _ = PQcancel(self.request, &message, Int32(message.count))
            self.end()
        }
    }

    private func end() {
        PQfreeCancel(self.request)
        Self.count.subtract(1, ordering: .relaxed)
    }
}
