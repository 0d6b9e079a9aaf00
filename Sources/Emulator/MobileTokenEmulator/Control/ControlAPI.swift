import APIDescriptions
import Coordination
import EmulatorBackend
import EmulatorHTTP
import EmulatorMessages
import HTTPClientTransport

/// The front end of a server: its pages, and the control API, `/_emulator/…`, which offers ``Emulator`` over HTTP. The core
/// handles the real servers' APIs.
struct ControlAPI: Sendable {
    let core: EmulatorCore
    /// The server's address; in responses, the one by which the client reached it.
    var address: ServerAddress
    var certificate: Emulator.Certificate?
    /// The server's spaces; `nil` within a space.
    var spaces: SpaceDirectory?

    /// Returns whether a path belongs to the control API, even if it does not exist.
    static func serves(_ path: String) -> Bool {
        let root = "/_emulator".utf8
        guard path.utf8.starts(with: root) else { return false }
        let rest = path.utf8.dropFirst(root.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/")
    }

    /// Returns whether a request may hold a state, for the server or a space. States have no small limit.
    @Sendable static func mayHoldState(_ request: ReceivedRequest) -> Bool {
        let path = SpacePath(request.path)?.inner ?? request.path
        return request.method == "POST" && (path == "/_emulator/import" || request.path == "/_emulator/spaces")
    }

    /// Responds to a request. `HEAD` is treated as `GET` in pages and the control API.
    func respond(to request: ReceivedRequest) async -> ServerResponse {
        guard self.spaces != nil, !self.address.isNamed(by: request.header("Host") ?? ""),
            self.core.configuration.publicURL == nil, let host = self.access.host(of: request)
        else { return await self.answer(request) }
        var reached = self
        reached.address = self.address.reached(as: host)
        return await reached.answer(request)
    }

    private func answer(_ request: ReceivedRequest) async -> ServerResponse {
        if let spaces = self.spaces, let path = SpacePath(request.path) {
            guard let space = spaces[path.id] else { return Refusal.noSuch("space").response }
            guard !path.inner.isEmpty else { return .redirection(to: path.id + "/") }
            var inner = request
            inner.path = path.inner
            let address = self.address.below(SpacePath.prefix(of: path.id))
            return await Self(core: space.core, address: address, certificate: self.certificate).answer(inner)
        }
        var response = self.naming(await self.answerHere(request))
        // The HTTP library would tell the machine's time, which is another one once the server's clock was moved.
        response.headers.append(("Date", HTTPDate.string(from: self.core.publishedNow)))
        return response
    }

    private func answerHere(_ request: ReceivedRequest) async -> ServerResponse {
        var request = request
        request.origin = self.address.origin
        let match = Self.routes.match(method: request.method == "HEAD" ? "GET" : request.method, path: request.path)
        do {
            switch match {
            case .route(let route, let arguments):
                try self.access.check(request, route.description.access)
                return try await route.handler(self, request, arguments).compressedIfLong(for: request)
            case .wrongMethod(let allowed) where !Self.serves(request.path):
                throw Refusal.wrongMethod(allowed: allowed + ["HEAD"])
            case .none where !Self.serves(request.path):
                return await self.core.respond(to: request)
            case .wrongMethod(let allowed):
                try self.access.check(request, .credentialsBeyondLoopback)
                throw Refusal.wrongMethod(allowed: allowed)
            case .none:
                try self.access.check(request, .credentialsBeyondLoopback)
                throw Refusal.unknownControlPath
            }
        } catch let refusal as Refusal {
            return refusal.response
        } catch let error as EmulatorError {
            return error.response
        } catch {
            return EmulatorError.notWritten.response
        }
    }

    /// Names the page that explains a refusal, in `X-Emulator-Entry`.
    private func naming(_ response: ServerResponse) -> ServerResponse {
        guard let entry = response.journalEntry else { return response }
        var response = response
        response.headers.append(("X-Emulator-Entry", "\(self.address.origin)/console/#journal/\(entry)"))
        return response
    }

    var access: ControlAccess {
        let configuration = self.core.configuration
        return ControlAccess(
            isLoopback: self.address.isLoopback,
            credentials: configuration.cloudCredentials,
            publicURL: configuration.publicURL
        )
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
        try await self.core.snapshot.backend.activation(id).found("activation")
    }

    func delivery(_ id: String) throws(Refusal) -> Emulator.DeliverySummary {
        let delivery = UInt64(id).flatMap { self.core.callbackQueue.outbox[$0] }
        return Emulator.DeliverySummary(try delivery.found("delivery"))
    }
}
