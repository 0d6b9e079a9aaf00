import APIDescriptions
import EmulatorMessages
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

@Suite struct RouteTableTests {
    private struct TestRoute: Routable {
        let method: String
        let path: String
    }

    private static let table = RouteTable([
        TestRoute(method: "PUT", path: "/things"),
        TestRoute(method: "GET", path: "/things"),
        TestRoute(method: "GET", path: "/things/{id}"),
        TestRoute(method: "GET", path: "/things/all"),
        TestRoute(method: "GET", path: "/things/{id}/parts/{part}"),
        TestRoute(method: "*", path: "/files/**"),
        TestRoute(method: "GET", path: "/files/secret"),
    ])

    @Test func argumentsArePercentDecoded() {
        #expect(self.found("GET", "/things/my%20app%2F1+2") == "/things/{id} my app/1+2")
        #expect(self.found("GET", "/things/100%") == "/things/{id} 100%")
        // The names of the paths themselves are plain.
        #expect(self.found("GET", "/th%69ngs") == "")
    }

    /// The route's path and the arguments; the methods that are allowed; or nothing.
    private func found(_ method: String, _ path: String) -> String {
        switch Self.table.match(method: method, path: path) {
        case .route(let route, let arguments): ([route.path] + arguments).joined(separator: " ")
        case .wrongMethod(let allowed): "allowed: " + allowed.joined(separator: " ")
        case .none: ""
        }
    }

    @Test(arguments: [
        ("/things", "/things"), ("/things/1", "/things/{id} 1"), ("/things/all", "/things/all"),
        ("/things/1/parts/2", "/things/{id}/parts/{part} 1 2"), ("/files/a/b", "/files/**"), ("/files/", "/files/**"),
        ("/files/secret", "/files/secret"), ("/files/secret/x", "/files/**"),
        ("", ""), ("/", ""), ("things", ""), ("x/things", ""), ("/things/", ""), ("/things//parts/2", ""),
        ("/things/1/parts", ""), ("/files", ""), ("/Things", ""), ("/things\u{301}", ""), ("/\u{301}things", ""),
    ])
    func aPathLeadsToOneRoute(path: String, expected: String) { #expect(self.found("GET", path) == expected) }

    @Test func otherMethodsAreToldWhichThereAreInTheTablesOrder() {
        #expect(self.found("DELETE", "/things") == "allowed: PUT GET")
        #expect(self.found("get", "/things") == "allowed: PUT GET")
        #expect(self.found("DELETE", "/files/x") == "/files/**")
        #expect(self.found("DELETE", "/files/secret") == "allowed: GET")
    }

    // MARK: - The tables that there are

    private static func example(_ path: String) -> String {
        path.replacing("{id}", with: "x").replacing("**", with: "x")
    }

    @Test func everyRouteIsFoundByItsOwnPathAndNamedOnce() {
        for route in Backend.routes.routes {
            guard
                case .route(let found, _) = Backend.routes.match(method: route.method, path: Self.example(route.path))
            else {
                Issue.record("\(route.method) \(route.path) leads nowhere")
                continue
            }
            #expect(found.path == route.path && found.method == route.method)
        }
        let names = Backend.routes.routes.map { "\($0.method) \($0.path)" }
        #expect(Set(names).count == names.count && names.count == 89, "\(names.count)")
        for route in ControlAPI.routes.routes {
            let match = ControlAPI.routes.match(method: route.method, path: Self.example(route.path))
            guard case .route(let found, _) = match else {
                Issue.record("\(route.method) \(route.path) leads nowhere")
                continue
            }
            #expect(found.path == route.path)
        }
    }

    /// A device's request is refused for what it lacks by the handler; the bank's before anything else is looked at.
    @Test func theBanksRoutesAskForCredentialsAndOnlyThose() throws {
        var fixture = try BackendFixture()
        for route in Backend.routes.routes {
            let reply = fixture.send(route.method, Self.example(route.path))
            let isBanks = route.path.utf8.starts(with: "/v2/".utf8) || route.path.utf8.starts(with: "/admin/".utf8)
            let code = route.description.origin == .powerAuthCloud ? "HTTP_401" : "ERROR_UNAUTHORIZED"
            #expect((reply.code == code) == isBanks, "\(route.method) \(route.path)")
            #expect((route.description.origin != nil) == isBanks)
            #expect((route.description.access == .credentials) == isBanks)
        }
    }
}
