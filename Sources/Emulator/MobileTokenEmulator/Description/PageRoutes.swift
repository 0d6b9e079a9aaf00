import APIDescriptions
import Basics
import EmulatorBackend
import EmulatorHTTP
import EmulatorMessages

extension ControlAPI.Route {
    /// A page for people, or the server's information about itself.
    fileprivate init(
        page path: String,
        shows access: RouteDescription.Access = .open,
        _ summary: String,
        status: Int = 200,
        gives response: RouteDescription.Content,
        refuses refusals: [Int] = [],
        _ respond: @escaping @Sendable (ControlAPI, ReceivedRequest) -> ServerResponse
    ) {
        self.method = "GET"
        self.path = path
        self.description = RouteDescription(
            summary,
            access: access,
            status: status,
            response: response,
            refusals: [400] + (access == .open ? [] : [401, 403]) + refusals + [413, 503]
        )
        self.handler = { [description = self.description] control, request, _ in
            if case .json = response { try request.check(description) }
            return respond(control, request)
        }
    }
}

extension ControlAPI {
    static let pageRoutes: [Route] = [
        Route(page: "/", "Lists what there is, and leads a browser to the console.", gives: .json(Index.schema)) {
            control,
            request in
            var response = request.acceptsHTML ? ConsolePage.see : .json(control.index.json)
            response.headers.append(("Vary", "Accept"))
            return response
        },
        Route(page: "/health", "Says that the server is ready.", gives: .json(Self.health.schema)) { _, _ in
            .json(Self.health.json("READY"))
        },
        Route(page: "/openapi.json", "Describes all of it, in OpenAPI 3.1.", gives: .json(.open())) {
            control,
            request in
            .json(control.openAPI.json).compressed(for: request)
        },
        Route(
            page: "/docs",
            shows: .credentialsBeyondLoopback,
            "Describes all of it, for people.",
            gives: Self.html
        ) { control, request in ConsolePage.documentation(control.openAPI, for: request) },
        Route(
            page: "/console",
            shows: .credentialsBeyondLoopback,
            "Leads to the console.",
            status: 308,
            gives: .nothing
        ) { _, _ in ConsolePage.redirection },
        Route(
            page: "/console/",
            shows: .credentialsBeyondLoopback,
            "Shows the server live.",
            gives: Self.html
        ) { _, request in ConsolePage.file(named: "", for: request) },
        Route(
            page: "/console/{file}",
            shows: .credentialsBeyondLoopback,
            "Serves what the console is made of.",
            gives: .other(type: "*/*"),
            refuses: [404]
        ) { _, request in
            ConsolePage.file(
                named: request.path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? "",
                for: request
            )
        },
    ]

    private static let health = FieldTable<String>("Health", .required("status", \.self, .string(oneOf: ["READY"])))
        .form

    private static let html = RouteDescription.Content.other(type: "text/html; charset=utf-8")

    /// All routes of the server, the source of the index, the OpenAPI document and `/docs`.
    static func allRoutes(of profile: EmulatorServerProfile) -> [any DescribedRoute] {
        Self.routes.routes + Backend.routes(of: profile).routes
    }

    private var openAPI: OpenAPIDocument {
        let profile = self.core.configuration.profile
        return OpenAPIDocument(
            routes: Self.allRoutes(of: profile),
            server: self.address.origin,
            profile: profile
        )
    }

    private var index: Index {
        let profile = self.core.configuration.profile
        return Index(
            server: profile.summary,
            routes: Self.allRoutes(of: profile).map {
                Index.Entry(method: $0.method, path: $0.path, summary: $0.description.summary)
            }
        )
    }
}

extension ReceivedRequest {
    /// Indicates whether it comes from a browser that shows a page.
    fileprivate var acceptsHTML: Bool { (self.header("Accept") ?? "").utf8.contains(lowercased: "text/html") }
}

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
