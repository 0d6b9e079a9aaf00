internal import Foundation
internal import PowerAuthProtocol

/// Everything that is served: the APIs, the control plane, the console.
struct Site: Sendable {
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
            if ControlPlane.holdsSecrets(Array(path.dropFirst())),
                let refusal = self.access.refusalWithoutCredentials(of: request)
            {
                return refusal
            }
            let controlPlane = ControlPlane(
                core: self.core,
                address: self.address,
                certificate: self.certificate,
                isAuthenticated: self.access.isAuthenticated(request)
            )
            return await controlPlane.respond(to: request, path: path[1...])
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
            user: self.core.configuration.cloudUser,
            password: self.core.configuration.cloudPassword ?? ""
        )
    }
}

extension ApplicationDescription {
    /// The string that configures a client.
    var sdkConfiguration: String {
        let configuration = try? SDKConfiguration(
            applicationKey: self.key,
            applicationSecret: self.secret,
            masterPublicKey: self.masterServerPublicKey
        )
        // The backend makes or reads the three as keys; they are of no other form.
        return configuration?.text ?? ""
    }
}
