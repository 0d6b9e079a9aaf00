import EmulatorHTTP
import EmulatorMessages

/// Dispatches each request: to the control API, the console, or the APIs of the backend.
struct Router: Sendable {
    let core: EmulatorCore
    let address: ServerAddress
    var certificate: Emulator.Certificate?

    func respond(to request: ReceivedRequest) async -> ServerResponse {
        var request = request
        request.origin = self.address.origin
        let path = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map(String.init)
        switch path.first {
        case "_emulator":
            if let refusal = self.access.refusal(of: request) { return refusal }
            let controlPlane = ControlAPI(
                core: self.core,
                address: self.address,
                certificate: self.certificate,
                isAuthenticated: self.access.isAuthenticated(request)
            )
            return await controlPlane.respond(to: request, self.access)
        case "console":
            if let refusal = self.access.refusal(of: request) { return refusal }
            return ConsolePage.respond(to: request, path: path.dropFirst())
        default:
            return await self.core.respond(to: request)
        }
    }

    private var access: ControlAccess {
        ControlAccess(
            isLoopback: self.address.isLoopback,
            credentials: self.core.configuration.cloudCredentials
        )
    }
}
