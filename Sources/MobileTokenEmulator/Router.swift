import EmulatorBackend
import EmulatorHTTP
import EmulatorMessages

/// Dispatches each request: to the pages, the control API, or the APIs of the backend.
struct Router: Sendable {
    let core: EmulatorCore
    let address: ServerAddress
    var certificate: Emulator.Certificate?
    /// `nil` within a space.
    var spaces: SpaceDirectory?

    func respond(to request: ReceivedRequest) async -> ServerResponse {
        guard let spaces = self.spaces, let path = SpacePath(request.path) else {
            return await self.respondHere(request)
        }
        guard let space = spaces[path.id] else { return Refusal.noSuch("space").response }
        guard !path.inner.isEmpty else { return .redirection(to: path.id + "/") }
        var inner = request
        inner.path = path.inner
        let address = self.address.below(SpacePath.prefix(of: path.id))
        return await Router(core: space.core, address: address, certificate: self.certificate).respondHere(inner)
    }

    private func respondHere(_ request: ReceivedRequest) async -> ServerResponse {
        var request = request
        request.origin = self.address.origin
        let site = Site(
            origin: self.address.origin,
            access: self.access,
            profile: self.core.configuration.profile
        )
        if let response = site.response(to: request) { return response }
        guard ControlAPI.serves(request.path) else { return await self.core.respond(to: request) }
        if let refusal = self.access.refusal(of: request) { return refusal }
        let controlPlane = ControlAPI(
            core: self.core,
            address: self.address,
            certificate: self.certificate,
            isAuthenticated: self.access.isAuthenticated(request),
            spaces: self.spaces
        )
        return await controlPlane.respond(to: request, self.access)
    }

    private var access: ControlAccess {
        ControlAccess(
            isLoopback: self.address.isLoopback,
            credentials: self.core.configuration.cloudCredentials
        )
    }
}
