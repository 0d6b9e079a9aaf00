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

    /// As the one is told who wanted a device.
    var preventingActivation: EmulatorError {
        EmulatorError(.refused, "The device could not be activated: \(self.reason)")
    }

    /// Throws when a response is none of success.
    static func check(_ status: Int, _ body: [UInt8]) throws(Self) {
        guard status != 200 else { return }
        let object = (try? JSONValue(parsing: body))?["responseObject"]
        let reason = [String(status), object?["code"]?.string, object?["message"]?.string]
            .compactMap(\.self).joined(separator: " ")
        throw status < 500 ? .refused(reason: reason) : .unanswered(reason: reason)
    }

    /// Runs what reads a response.
    static func reading<Value>(_ body: () throws -> Value) throws(Self) -> Value {
        do { return try body() } catch let failure as Self { throw failure } catch {
            throw .unanswered(reason: "the response cannot be read: \(error)")
        }
    }
}

/// One request of a virtual device, and what the device makes of the response. However it is sent: over the device's wire, or
/// within one change of the server's state.
struct DeviceExchange<Outcome> {
    let path: String
    var headers: [(name: String, value: String)] = []
    let body: [UInt8]
    let read: (_ response: [UInt8], _ now: Milliseconds) throws -> Outcome
}

/// How a virtual device reaches its server: the way of every client's request, faults and journal included, but for the
/// socket.
struct DeviceWire: Sendable {
    let core: EmulatorCore
    /// The device's name, for the journal.
    let name: String
    /// The epoch of the devices that it is one of.
    let epoch: Int

    /// Keeps what a request has moved in a device, before the request leaves: who takes a copy of all meanwhile takes no
    /// device that is behind its server.
    func keep(_ session: any DeviceSession) { self.core.devices.keep(session, in: self.epoch) }

    var now: Milliseconds { get async { await self.core.now.milliseconds } }

    /// Sends a request, and returns the body of its response.
    func send(
        _ path: String,
        headers: [(name: String, value: String)] = [],
        _ body: [UInt8]
    ) async throws(DeviceFailure) -> [UInt8] {
        let response = await self.core.respond(to: Self.request(path, headers, body), ofDevice: self)
        guard let received = await response.received() else { throw .unanswered(reason: "the connection broke") }
        try DeviceFailure.check(response.status, received)
        return received
    }

    /// Sends a request, and reads its response.
    func perform<Outcome>(_ exchange: DeviceExchange<Outcome>) async throws(DeviceFailure) -> Outcome {
        let response = try await self.send(exchange.path, headers: exchange.headers, exchange.body)
        let now = await self.now
        return try DeviceFailure.reading { try exchange.read(response, now) }
    }

    /// The request of a device, with what all of them send.
    static func request(
        _ path: String,
        _ headers: [(name: String, value: String)],
        _ body: [UInt8]
    ) -> ReceivedRequest {
        let own = [(name: "Content-Type", value: "application/json"), (name: "Accept-Language", value: "en")]
        return ReceivedRequest(method: "POST", path: path, headers: own + headers, body: body)
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
