import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Synchronization

/// Why a virtual device did not get what it asked for.
enum DeviceFailure: Error, Sendable, Equatable {
    /// The server said no.
    case refused(reason: String)
    /// There was no response, or none that can be read: as for a phone without a network, it is worth another try.
    case unanswered(reason: String)

    var reason: String {
        switch self {
        case .refused(let reason), .unanswered(let reason): reason
        }
    }

    /// Runs what reads a response.
    static func reading<Value>(_ body: () throws -> Value) throws(Self) -> Value {
        do { return try body() } catch let failure as Self { throw failure } catch {
            throw .unanswered(reason: "the response cannot be read: \(error)")
        }
    }
}

/// How a virtual device reaches its server: the way of every client's request, faults and journal included, but for the
/// socket.
struct DeviceWire: Sendable {
    let core: EmulatorCore
    /// The device's name, for the journal.
    let name: String

    var now: Milliseconds { get async { await self.core.now.milliseconds } }

    /// Sends a request, and returns the body of its response.
    func send(
        _ path: String,
        headers: [(name: String, value: String)] = [],
        _ body: [UInt8]
    ) async throws(DeviceFailure) -> [UInt8] {
        let own = [(name: "Content-Type", value: "application/json"), (name: "Accept-Language", value: "en")]
        let request = ReceivedRequest(method: "POST", path: path, headers: own + headers, body: body)
        let response = await self.core.respond(to: request, ofDevice: self.name)
        guard let received = await response.received() else { throw .unanswered(reason: "the connection broke") }
        guard response.status == 200 else {
            let object = (try? JSONValue(parsing: received))?["responseObject"]
            let reason = [String(response.status), object?["code"]?.string, object?["message"]?.string]
                .compactMap(\.self).joined(separator: " ")
            throw response.status < 500 ? .refused(reason: reason) : .unanswered(reason: reason)
        }
        return received
    }

    func send(
        _ path: String,
        headers: [(name: String, value: String)] = [],
        json: JSONValue
    ) async throws(DeviceFailure) -> JSONValue {
        let body = try await self.send(path, headers: headers, json.serialized())
        return try DeviceFailure.reading { try JSONValue(parsing: body) }
    }
}

extension ServerResponse {
    /// The body as a client receives it; `nil` when the connection ends before it is complete.
    fileprivate func received() async -> [UInt8]? {
        switch self.body {
        case .bytes(let bytes): return bytes
        case .reset: return nil
        case .produced(_, let produce):
            let receiver = Receiver()
            await produce(receiver)
            return receiver.content
        }
    }

    private final class Receiver: BodyWriter {
        private let state = Mutex((bytes: [UInt8](), isAborted: false))

        var isClosed: Bool { self.state.withLock { $0.isAborted } }
        /// `nil` for one that was aborted.
        var content: [UInt8]? { self.state.withLock { $0.isAborted ? nil : $0.bytes } }

        func write(_ bytes: some Collection<UInt8>) {
            let bytes = Array(bytes)
            self.state.withLock { $0.bytes += bytes }
        }

        func abort() { self.state.withLock { $0.isAborted = true } }
    }
}
