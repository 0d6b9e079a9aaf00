import EmulatorBackend
import EmulatorMessages
import ExactJSON

/// What the server says of itself, and the pages for people: everything beside the APIs.
struct Site: Sendable {
    /// One address.
    struct Route: DescribedRoute {
        let method = "GET"
        let path: String
        /// Whether only those may see it who may use the control API.
        let isGuarded: Bool
        let description: RouteDescription
        let respond: @Sendable (Site, ReceivedRequest) -> ServerResponse

        init(
            _ path: String,
            isGuarded: Bool = false,
            _ summary: String,
            status: Int = 200,
            gives response: RouteDescription.Content,
            refuses refusals: [Int] = [],
            _ respond: @escaping @Sendable (Site, ReceivedRequest) -> ServerResponse
        ) {
            self.path = path
            self.isGuarded = isGuarded
            self.description = RouteDescription(
                summary,
                access: isGuarded ? .credentialsBeyondLoopback : .open,
                status: status,
                response: response,
                refusals: [400] + (isGuarded ? [401, 403] : []) + refusals + [413, 503]
            )
            self.respond = respond
        }
    }

    /// `HEAD` is treated as `GET`.
    static let routes = RouteTable([
        Route("/", "Lists what there is.", gives: .json(.index)) { site, _ in .json(site.index) },
        Route("/health", "Says that the server is ready.", gives: .json(.health)) { _, _ in
            .json(["status": "READY"])
        },
        Route("/openapi.json", "Describes all of it, in OpenAPI 3.1.", gives: .json(.open())) { site, _ in
            .json(site.openAPI.json)
        },
        Route("/docs", isGuarded: true, "Describes all of it, for people.", gives: Self.html) { site, _ in
            ConsolePage.documentation(site.openAPI)
        },
        Route("/console", isGuarded: true, "Leads to the console.", status: 308, gives: .nothing) { _, _ in
            ConsolePage.redirection
        },
        Route("/console/", isGuarded: true, "Shows the server live.", gives: Self.html) { _, _ in
            ConsolePage.file(named: "")
        },
        Route(
            "/console/{file}",
            isGuarded: true,
            "Serves what the console is made of.",
            gives: .other(type: "*/*"),
            refuses: [404]
        ) { _, request in
            ConsolePage.file(
                named: request.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? ""
            )
        },
    ])

    /// Every route of the server: whatever is told of the routes comes from here.
    static func allRoutes(of profile: EmulatorServerProfile) -> [any DescribedRoute] {
        Self.routes.routes + ControlAPI.routes.routes + Backend.routes(of: profile).routes
    }

    private static let html = RouteDescription.Content.other(type: "text/html; charset=utf-8")

    /// Where the server is found.
    let origin: String
    let access: ControlAccess
    /// What the backend behaves as.
    let profile: EmulatorServerProfile

    /// Responds to a request that is for none of the APIs; `nil` for one that is.
    func response(to request: ReceivedRequest) -> ServerResponse? {
        let method = request.method == "HEAD" ? "GET" : request.method
        switch Self.routes.match(method: method, path: request.path) {
        case .route(let route, _):
            if route.isGuarded, let refusal = self.access.refusal(of: request) { return refusal }
            if case .json = route.description.response {
                do { try request.checkQuery([]) } catch { return error.response }
            }
            return route.respond(self, request)
        case .wrongMethod(let allowed):
            return Refusal.wrongControlMethod(allowed: allowed + ["HEAD"]).response
        case .none:
            return nil
        }
    }

    private var openAPI: OpenAPIDocument {
        OpenAPIDocument(routes: Self.allRoutes(of: self.profile), server: self.origin, profile: self.profile)
    }

    private var index: JSONValue {
        [
            "name": "Mobile Token Emulator",
            "purpose": "A strict development server for push approval. Keep real secrets away.",
            "server": .string(self.profile.summary),
            "console": "console/",
            "documentation": "docs",
            "openAPI": "openapi.json",
            "health": "health",
            "routes": .array(
                Self.allRoutes(of: self.profile).map { route in
                    [
                        "method": .string(route.method), "path": .string(route.path),
                        "summary": .string(route.description.summary),
                    ]
                }
            ),
        ]
    }
}

extension Schema {
    fileprivate static let health = Self.object("Health", [.required("status", .oneOf(["READY"]))])

    fileprivate static let index = Self.object(
        "Index",
        [
            .required("name", .string), .required("purpose", .string), .required("server", .string),
            .required("console", .string),
            .required("documentation", .string), .required("openAPI", .string), .required("health", .string),
            .required(
                "routes",
                .list(
                    of: .object([
                        .required("method", .string), .required("path", .string), .required("summary", .string),
                    ])
                )
            ),
        ]
    )
}
