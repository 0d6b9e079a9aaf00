import APIDescriptions
import EmulatorBackend
import EmulatorMessages
import ExactJSON

/// The pages for people, and the server's words about itself: everything beside the APIs.
struct Site: Sendable {
    /// One address.
    struct Route: DescribedRoute {
        let method = "GET"
        let path: String
        /// Indicates whether only those may see it who may use the control API.
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
        Route("/", "Lists what there is.", gives: .json(Index.schema)) { site, _ in .json(site.index.json) },
        Route("/health", "Says that the server is ready.", gives: .json(Health.schema)) { _, _ in
            .json(Health().json)
        },
        Route("/openapi.json", "Describes all of it, in OpenAPI 3.1.", gives: .json(.open())) { site, _ in
            .json(site.openAPI.json)
        },
        Route("/docs", isGuarded: true, "Describes all of it, for people.", gives: Self.html) { site, request in
            ConsolePage.documentation(site.openAPI, for: request)
        },
        Route("/console", isGuarded: true, "Leads to the console.", status: 308, gives: .nothing) { _, _ in
            ConsolePage.redirection
        },
        Route("/console/", isGuarded: true, "Shows the server live.", gives: Self.html) { _, request in
            ConsolePage.file(named: "", for: request)
        },
        Route(
            "/console/{file}",
            isGuarded: true,
            "Serves what the console is made of.",
            gives: .other(type: "*/*"),
            refuses: [404]
        ) { _, request in
            ConsolePage.file(
                named: request.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? "",
                for: request
            )
        },
    ])

    /// Every route of the server: whatever is told of the routes comes from here.
    static func allRoutes(of profile: EmulatorServerProfile) -> [any DescribedRoute] {
        Self.routes.routes + ControlAPI.routes.routes + Backend.routes(of: profile).routes
    }

    private static let html = RouteDescription.Content.other(type: "text/html; charset=utf-8")

    /// The address of the server.
    let origin: String
    let access: ControlAccess
    /// The profile that the backend behaves as.
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
            return Refusal.wrongMethod(allowed: allowed + ["HEAD"]).response
        case .none:
            return nil
        }
    }

    private var openAPI: OpenAPIDocument {
        OpenAPIDocument(routes: Self.allRoutes(of: self.profile), server: self.origin, profile: self.profile)
    }

    private var index: Index {
        Index(
            server: self.profile.summary,
            routes: Self.allRoutes(of: self.profile).map {
                Index.Entry(method: $0.method, path: $0.path, summary: $0.description.summary)
            }
        )
    }
}

/// The statement that a server is ready.
private struct Health: Described {
    var status = "READY"

    static let fields = FieldTable(
        "Health",
        Self.init(status:),
        .required("status", \.status, .string(oneOf: ["READY"]))
    )
}

/// The list of what there is.
private struct Index: Described {
    var name = "Mobile Token Emulator"
    var purpose = "A strict development server for push approval. Keep real secrets away."
    var server: String
    var console = "console/"
    var documentation = "docs"
    var openAPI = "openapi.json"
    var health = "health"
    var routes: [Entry]

    static let fields = FieldTable(
        "Index",
        Self.init,
        .required("name", \.name, .string),
        .required("purpose", \.purpose, .string),
        .required("server", \.server, .string),
        .required("console", \.console, .string),
        .required("documentation", \.documentation, .string),
        .required("openAPI", \.openAPI, .string),
        .required("health", \.health, .string),
        .required("routes", \.routes, .list(of: Entry.fields.inlined))
    )

    struct Entry: Described {
        var method: String
        var path: String
        var summary: String

        static let fields = FieldTable(
            "IndexEntry",
            Self.init(method:path:summary:),
            .required("method", \.method, .string),
            .required("path", \.path, .string),
            .required("summary", \.summary, .string)
        )
    }
}
