import CPostgreSQL
import Dispatch
import Synchronization

/// Cancels a connection's current statement. libpq 15 needs a new connection for that, which blocks for as long as the server
/// does not respond. So each request has its own thread. Beyond a limit of waiting requests, the connection's deadline ends it
/// instead.
struct StatementCancellation: @unchecked Sendable {
    private static let limit = 4
    private static let count = Atomic(0)

    // libpq copies the needed data from the connection, for use on any thread. This value is used by one.
    private let request: OpaquePointer

    init?(of connection: OpaquePointer) {
        guard let request = PQgetCancel(connection) else { return nil }
        self.request = request
    }

    /// Call it once.
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
