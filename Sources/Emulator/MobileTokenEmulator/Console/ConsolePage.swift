import EmulatorMessages

/// The console, `/console/`: a page that shows the server live. All its files are part of the program.
enum ConsolePage {
    private struct File {
        let type: String
        let content: [UInt8]
        /// The content in the gzip format.
        let compressed: [UInt8]?

        init(type: String, content: [UInt8], isCompressed: Bool = true) {
            (self.type, self.content) = (type, content)
            self.compressed = isCompressed ? Compression.gzipped(content) : nil
        }
    }

    /// The page loads its files relative to its folder, whose name the client's address has.
    static let redirection = ServerResponse.redirection(to: "console/")

    /// Leads a browser there; not permanently, because other clients get something else at the address.
    static let see = ServerResponse(status: 303, headers: [("Location", "console/")], body: .bytes([]))

    /// The page that describes the APIs.
    static func documentation(_ document: OpenAPIDocument, for request: ReceivedRequest) -> ServerResponse {
        let content = Array(DocumentationPage(document).html.utf8)
        let type = "text/html; charset=utf-8"
        return Self.response(to: request, File(type: type, content: content, isCompressed: request.acceptsGzip))
    }

    /// A file of the console; the empty name is the page.
    static func file(named name: String, for request: ReceivedRequest) -> ServerResponse {
        guard let file = Self.files[name] else {
            return .error(404, code: "ERROR_NOT_FOUND", message: "The console has no such file")
        }
        var response = Self.response(to: request, file)
        if name.isEmpty { response.headers.append(("Link", Self.preloads)) }
        return response
    }

    private static func response(to request: ReceivedRequest, _ file: File) -> ServerResponse {
        let compressed = request.acceptsGzip ? file.compressed : nil
        return ServerResponse(
            status: 200,
            headers: [
                ("Content-Type", file.type),
                // Only own sources and nothing inline: data inserted into the page cannot run as a script.
                (
                    "Content-Security-Policy",
                    """
                    default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                    form-action 'none'; base-uri 'none'; frame-ancestors 'none'
                    """
                ),
                ("X-Content-Type-Options", "nosniff"),
                ("Referrer-Policy", "no-referrer"),
                ("Cache-Control", "no-cache"),
                ("Vary", "Accept-Encoding"),
            ] + (compressed == nil ? [] : [("Content-Encoding", "gzip")]),
            body: .bytes(compressed ?? file.content)
        )
    }

    private static let files: [String: File] = [
        "": File(type: "text/html; charset=utf-8", content: PackageResources.index_html),
        "console.css": File(type: "text/css; charset=utf-8", content: PackageResources.console_css),
        "docs.css": File(type: "text/css; charset=utf-8", content: PackageResources.docs_css),
        "phone.css": File(type: "text/css; charset=utf-8", content: PackageResources.phone_css),
        "icon.svg": File(type: "image/svg+xml", content: PackageResources.icon_svg),
    ].merging(Self.modules.mapValues { File(type: "text/javascript; charset=utf-8", content: $0) }) { $1 }

    /// The page's modules; without preloading, a browser would discover the imports in four round trips.
    private static let preloads = Self.modules.keys.filter { $0 != "docs.js" }.sorted()
        .map { "<\($0)>; rel=modulepreload" }.joined(separator: ", ")

    /// The modules, one per concept; `console.js` and `docs.js` are the entry points.
    private static let modules: [String: [UInt8]] = [
        "activations.js": PackageResources.activations_js,
        "address.js": PackageResources.address_js,
        "callbacks.js": PackageResources.callbacks_js,
        "clock.js": PackageResources.clock_js,
        "collection.js": PackageResources.collection_js,
        "connect.js": PackageResources.connect_js,
        "console.js": PackageResources.console_js,
        "counts.js": PackageResources.counts_js,
        "curl.js": PackageResources.curl_js,
        "deliveries.js": PackageResources.deliveries_js,
        "details.js": PackageResources.details_js,
        "devices.js": PackageResources.devices_js,
        "dialogs.js": PackageResources.dialogs_js,
        "docs.js": PackageResources.docs_js,
        "dom.js": PackageResources.dom_js,
        "entry.js": PackageResources.entry_js,
        "faults.js": PackageResources.faults_js,
        "guide.js": PackageResources.guide_js,
        "journal.js": PackageResources.journal_js,
        "judged-code.js": PackageResources.judged_code_js,
        "life.js": PackageResources.life_js,
        "lists.js": PackageResources.lists_js,
        "messages.js": PackageResources.messages_js,
        "offline.js": PackageResources.offline_js,
        "operation.js": PackageResources.operation_js,
        "operations.js": PackageResources.operations_js,
        "phone.js": PackageResources.phone_js,
        "polls.js": PackageResources.polls_js,
        "pulse.js": PackageResources.pulse_js,
        "pushes.js": PackageResources.pushes_js,
        "server.js": PackageResources.server_js,
        "spaces.js": PackageResources.spaces_js,
        "stage.js": PackageResources.stage_js,
        "template.js": PackageResources.template_js,
        "templates.js": PackageResources.templates_js,
        "time.js": PackageResources.time_js,
        "views.js": PackageResources.views_js,
        "virtual-list.js": PackageResources.virtual_list_js,
        "way.js": PackageResources.way_js,
        "what.js": PackageResources.what_js,
    ]
}

extension ServerResponse {
    /// Redirects permanently to an address relative to the requested one.
    static func redirection(to location: String) -> Self {
        Self(status: 308, headers: [("Location", location)], body: .bytes([]))
    }
}
