import EmulatorHTTP
import EmulatorMessages

/// Dispatches each request: to the pages, the control API, or the APIs of the backend.
struct Router: Sendable {
    let core: EmulatorCore
    let address: ServerAddress
    var certificate: Emulator.Certificate?

    func respond(to request: ReceivedRequest) async -> ServerResponse {
        var request = request
        request.origin = self.address.origin
        let site = Site(origin: self.address.origin, access: self.access)
        if let response = site.response(to: request) { return response }
        guard ControlAPI.serves(request.path) else { return await self.core.respond(to: request) }
        if let refusal = self.access.refusal(of: request) { return refusal }
        let controlPlane = ControlAPI(
            core: self.core,
            address: self.address,
            certificate: self.certificate,
            isAuthenticated: self.access.isAuthenticated(request)
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
