import Basics
import EmulatorMessages
import Synchronization

/// A request and its response.
///
/// The server's thread collects the request, suspends the connection and hands the exchange out. The responding task calls
/// ``respond(with:stream:)``, which wakes the server's thread to send the response.
final class ServerExchange: Sendable {
    private enum Phase {
        case requestLine
        case receiving
        /// The rest of the body is read and dropped, so that the client reads the refusal.
        case refusing(status: Int)
        case awaitingResponse
        case ready(ServerResponse, BodyStream?)
        case responding
    }

    /// The next step of the server's thread.
    enum Step {
        case readOn
        case handOut(ReceivedRequest)
        case refuse(status: Int)
        case respond(ServerResponse, BodyStream?)
        case close
    }

    private struct State {
        var phase = Phase.requestLine
        var request: ReceivedRequest
        /// The address of the target in the library's buffer, only for comparison.
        var targetAddress: UInt
        var targetCount: Int
        /// The received size of the body, including dropped bytes.
        var received = 0
        /// The body's part of the server's memory for bodies.
        var reserved = 0
    }

    let connection: ServerConnection
    private let state: Mutex<State>

    /// - Parameter target: The target in the library's buffer, up to its first zero byte.
    init(target: UnsafeRawBufferPointer, connection: ServerConnection) {
        self.connection = connection
        var request = ReceivedRequest(method: "", target: String(decoding: target, as: UTF8.self))
        request.peerAddress = connection.peerAddress
        let address = UInt(bitPattern: target.baseAddress)
        self.state = Mutex(State(request: request, targetAddress: address, targetCount: target.count))
    }

    var reservedBytes: Int { self.state.withLock { $0.reserved } }

    /// - Parameter stream: The stream for the body, if the response produces it piece by piece.
    func respond(with response: ServerResponse, stream: BodyStream? = nil) {
        self.state.withLock { state in
            guard case .awaitingResponse = state.phase else { return }
            state.phase = .ready(response, stream)
        }
        self.connection.resume()
    }

    /// Receives the headers or the next piece of the body; an empty piece after the headers ends the body.
    ///
    /// - Parameter isUnambiguous: Returns whether the head is unambiguous, from the target's address in it.
    func advance(
        receiving piece: UnsafeRawBufferPointer,
        method: UnsafePointer<CChar>,
        headers: () -> [(name: String, value: String)],
        isUnambiguous: (_ targetAddress: UInt, _ targetCount: Int) -> Bool,
        context: ServerContext
    ) -> Step {
        self.state.withLock { state in
            switch state.phase {
            case .requestLine:
                state.request.method = String(cString: method)
                state.request.headers = headers()
                guard
                    state.request.isFramedUnambiguously, isUnambiguous(state.targetAddress, state.targetCount)
                else {
                    state.phase = .responding
                    return .refuse(status: 400)
                }
                return Self.beginBody(&state, context.limits)
            case .receiving where piece.isEmpty:
                state.phase = .awaitingResponse
                var request = ReceivedRequest(method: "", path: "")
                swap(&request, &state.request)
                return .handOut(request)
            case .receiving:
                state.received += piece.count
                if state.received > context.limits.bodyBytes(of: state.request) {
                    Self.refuse(413, &state)
                } else if !context.reserve(bodyBytes: piece.count) {
                    Self.refuse(503, &state)
                } else {
                    state.reserved += piece.count
                    state.request.body.append(contentsOf: piece)
                }
                return .readOn
            case .refusing(let status) where piece.isEmpty:
                state.phase = .responding
                return .refuse(status: status)
            case .refusing:
                state.received += piece.count
                return state.received > context.limits.droppedBytes ? .close : .readOn
            case .ready(let response, let stream):
                state.phase = .responding
                return .respond(response, stream)
            case .awaitingResponse, .responding:
                return .close
            }
        }
    }

    /// Checks the body's length before it arrives: a client that asks first, or announces too much, is refused at once.
    private static func beginBody(_ state: inout State, _ limits: HTTPServer.Limits) -> Step {
        state.phase = .receiving
        let length = state.request.header("Content-Length").flatMap(Int.init) ?? 0
        guard length > limits.bodyBytes(of: state.request) else { return .readOn }
        let asksFirst = state.request.header("Expect")?.equalsIgnoringASCIICase("100-continue") == true
        if asksFirst || length > limits.droppedBytes { return .refuse(status: 413) }
        state.phase = .refusing(status: 413)
        return .readOn
    }

    private static func refuse(_ status: Int, _ state: inout State) {
        state.request.body = []
        state.phase = .refusing(status: status)
    }
}
