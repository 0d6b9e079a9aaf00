import EmulatorMessages

/// The console, `/console/`: a page that shows the server live. It and all it needs are part of the program.
enum ConsolePage {
    private struct File {
        var type: String
        var content: [UInt8]
    }

    /// - Parameter path: The segments after `console`.
    static func respond(to request: ReceivedRequest, path: ArraySlice<String>) -> ServerResponse {
        guard request.method == "GET" || request.method == "HEAD" else {
            var response = ServerResponse.error(405, code: "METHOD_NOT_ALLOWED", message: "The console is only read")
            response.headers.append(("Allow", "GET, HEAD"))
            return response
        }
        if path.isEmpty {
            // The page finds the rest relative to its folder; the folder's name is in the address the client used.
            return ServerResponse(status: 308, headers: [("Location", "console/")], body: .bytes([]))
        }
        guard path.count == 1, let name = path.first, let file = Self.files[name] else {
            return .error(404, code: "ERROR_NOT_FOUND", message: "The console has no such file")
        }
        return ServerResponse(
            status: 200,
            headers: [
                ("Content-Type", file.type),
                // Nothing from elsewhere, nothing inline: data that finds its way into the page cannot become a program.
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
            ],
            body: .bytes(file.content)
        )
    }

    private static let files: [String: File] = [
        "": File(type: "text/html; charset=utf-8", content: PackageResources.index_html),
        "console.css": File(type: "text/css; charset=utf-8", content: PackageResources.console_css),
        "icon.svg": File(type: "image/svg+xml", content: PackageResources.icon_svg),
    ].merging(Self.modules.mapValues { File(type: "text/javascript; charset=utf-8", content: $0) }) { $1 }

    /// The program, a module for each concept; `console.js` is the one that starts.
    private static let modules: [String: [UInt8]] = [
        "activations.js": PackageResources.activations_js,
        "clock.js": PackageResources.clock_js,
        "collection.js": PackageResources.collection_js,
        "connect.js": PackageResources.connect_js,
        "console.js": PackageResources.console_js,
        "details.js": PackageResources.details_js,
        "dialogs.js": PackageResources.dialogs_js,
        "dom.js": PackageResources.dom_js,
        "faults.js": PackageResources.faults_js,
        "journal.js": PackageResources.journal_js,
        "messages.js": PackageResources.messages_js,
        "offline.js": PackageResources.offline_js,
        "operation-form.js": PackageResources.operation_form_js,
        "operations.js": PackageResources.operations_js,
        "server.js": PackageResources.server_js,
        "views.js": PackageResources.views_js,
        "virtual-list.js": PackageResources.virtual_list_js,
    ]
}
