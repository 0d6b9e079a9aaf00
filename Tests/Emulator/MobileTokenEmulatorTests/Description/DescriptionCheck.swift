import APIDescriptions
import EmulatorMessages
import ExactJSON
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

extension ControlAPI {
    static let allRoutes = Self.allRoutes(of: EmulatorServerProfile())
}

extension DescribedRoute {
    /// Expects that a response is one of those that the route's description promises.
    func expectDescribed(_ response: ServerResponse) {
        let place: Comment = "\(self.method) \(self.path) → \(response.status)"
        let schema: Schema
        // An annotated endpoint gives this empty response to a request that it could not open.
        if response.status == 200, response.bytes.isEmpty, self.path.hasSuffix("activation/detail") { return }
        if response.status == self.description.status {
            guard case .json(let form) = self.description.response else { return }
            schema = form
        } else {
            #expect(self.description.refusals.contains(response.status), place)
            schema = .refusal
        }
        guard let body = try? JSONValue(parsing: response.bytes) else {
            Issue.record("\(place) is not JSON")
            return
        }
        #expect(schema.objection(to: body) == nil, place)
    }
}

extension Backend {
    /// Expects what ``EmulatorMessages/DescribedRoute`` promises of the route of a request.
    func expectDescribed(_ response: ServerResponse, to request: ReceivedRequest) {
        guard case .route(let route, _) = self.routes.match(method: request.method, path: request.path) else { return }
        route.expectDescribed(response)
    }
}
