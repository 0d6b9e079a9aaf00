import Coordination
import EmulatorBackend
import EmulatorHTTP
import EmulatorMessages
import Foundation

/// The control API, `/_emulator/…`: what ``Emulator`` offers, over HTTP.
struct ControlAPI: Sendable {
    let core: EmulatorCore
    let address: ServerAddress
    let certificate: Emulator.Certificate?
    /// Indicates whether the request showed the credentials.
    let isAuthenticated: Bool
    /// Those of the server; `nil` within a space.
    let spaces: SpaceDirectory?

    /// Returns whether a path is one of the control API's, existing or not.
    static func serves(_ path: String) -> Bool {
        let root = "/_emulator".utf8
        guard path.utf8.starts(with: root) else { return false }
        let rest = path.utf8.dropFirst(root.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/")
    }

    /// Returns whether a request may hold a state, for the server or for a space: a state has no small bound.
    @Sendable static func mayHoldState(_ request: ReceivedRequest) -> Bool {
        let path = SpacePath(request.path)?.inner ?? request.path
        return request.method == "POST" && (path == "/_emulator/import" || request.path == "/_emulator/spaces")
    }

    /// Responds to a request of the control API.
    ///
    /// - Parameter access: Asks for the credentials where the route needs them, also on loopback.
    func respond(to request: ReceivedRequest, _ access: ControlAccess) async -> ServerResponse {
        let method = request.method == "HEAD" ? "GET" : request.method
        do {
            switch Self.routes.match(method: method, path: request.path) {
            case .route(let route, let arguments):
                if route.needsCredentials, let refusal = access.refusalWithoutCredentials(of: request) {
                    return refusal
                }
                return try await route.handler(self, request, arguments)
            case .wrongMethod(let allowed): throw Refusal.wrongMethod(allowed: allowed)
            case .none: throw Refusal.unknownControlPath
            }
        } catch let refusal as Refusal {
            return refusal.response
        } catch let error as EmulatorError {
            return error.response
        } catch {
            return EmulatorError.notWritten.response
        }
    }

    var capacity: Emulator.Capacity { self.core.configuration.capacity }

    // MARK: Events

    func eventStream() throws(Refusal) -> ServerResponse {
        guard let events = self.core.events.subscribe(unlessThereAre: self.capacity.eventStreams) else {
            let message = "There are \(self.capacity.eventStreams) readers of the events already"
            throw Refusal(503, "CAPACITY_EXCEEDED", message)
        }
        return .events(events.stream, self.core.clock)
    }

    // MARK: Activations

    func activation(_ id: String) async throws(Refusal) -> Emulator.ActivationSummary {
        guard let activation = await self.core.snapshot.backend.activation(id) else {
            throw Refusal.noSuch("activation")
        }
        return activation
    }

    func delivery(_ id: String) throws(Refusal) -> Emulator.DeliverySummary {
        guard let number = UInt64(id), let delivery = self.core.mailroom.outbox[number] else {
            throw Refusal.noSuch("delivery")
        }
        return Emulator.DeliverySummary(delivery)
    }

    func message(_ id: String) async throws(Refusal) -> Emulator.MessageSummary {
        guard let message = await self.core.snapshot.backend.message(id) else { throw Refusal.noSuch("message") }
        return message
    }
}
