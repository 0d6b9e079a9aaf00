import EmulatorMessages
import ExactJSON

/// The API documentation page, generated from the OpenAPI document. It is readable without scripts.
struct DocumentationPage {
    private let document: JSONValue
    private let server: String

    init(_ document: OpenAPIDocument) {
        self.document = document.json
        self.server = document.server
    }

    var html: String {
        let info = self.document["info"]
        let areas = (self.document["tags"]?.array ?? []).enumerated().map { index, tag in
            (id: "area-\(index)", name: tag["name"]?.string ?? "", about: tag["description"]?.string ?? "")
        }
        let links = areas.map { "<li><a href=\"#\($0.id)\">\(HTML.text($0.name))</a></li>" }.joined(separator: "\n")
        let sections = areas.map { area in
            """
            <section class="area" id="\(area.id)" aria-label="\(HTML.text(area.name))">
            <h2>\(HTML.text(area.name))</h2><p class="muted">\(HTML.text(area.about))</p>
            \(self.routes(of: area.name).joined(separator: "\n"))
            </section>
            """
        }
        return String(decoding: PackageResources.docs_html, as: UTF8.self)
            .replacing("<!-- introduction -->", with: HTML.text(info?["description"]?.string ?? ""))
            .replacing("<!-- areas -->", with: links)
            .replacing("<!-- routes -->", with: sections.joined(separator: "\n"))
            .replacing("<!-- shapes -->", with: self.shapes.joined(separator: "\n"))
    }

    // MARK: Routes

    private func routes(of area: String) -> [String] {
        (self.document["paths"]?.object?.members ?? []).flatMap { path in
            (path.value.object?.members ?? []).filter { $0.value["tags"]?[0]?.string == area }.map { operation in
                self.route(operation.key.uppercased(), path.key, operation.value)
            }
        }
    }

    private func route(_ method: String, _ path: String, _ operation: JSONValue) -> String {
        let id = operation["operationId"]?.string ?? ""
        let body = operation["requestBody"]?["content"]?["application/json"]
        let given = operation["responses"]?.object?.members.first { $0.key < "4" }
        let shape = given?.value["content"]?["application/json"]?["schema"]
        let mark = operation["x-origin"]?.string == "this server" && area(of: operation) == "Cloud API"
        let about = HTML.text(operation["summary"]?.string ?? "") + (mark ? " <em>This server alone.</em>" : "")
        var tables = [
            """
            <p class="muted">\(HTML.text(self.access(operation))) \
            <a class="anchor" href="#\(id)">Link to this call</a></p>
            """
        ]
        tables += Self.table("Parameters", (operation["parameters"]?.array ?? []).map(self.parameterRow))
        if let schema = body?["schema"] {
            let title = operation["requestBody"]?["required"]?.bool == true ? "Body" : "Body, which may be left out"
            tables += Self.table(title, self.memberRows(schema))
        }
        let refusals = (operation["responses"]?.object?.members ?? []).filter { $0.key >= "4" }.map { refusal in
            let meaning = HTML.text(refusal.value["description"]?.string ?? "")
            return "<dt><code>\(refusal.key)</code></dt><dd>\(meaning)</dd>"
        }
        if !refusals.isEmpty { tables.append("<h3>Refusals</h3><dl class=\"facts\">\(refusals.joined())</dl>") }

        var example = "<h3>Example</h3><pre class=\"curl\">\(HTML.text(self.command(method, path, operation)))</pre>"
        if let shape {
            example += "<h3>Response</h3><p>\(given?.key ?? ""), \(self.typeLink(shape))</p>"
            example += "<pre>\(HTML.text(self.example(shape).indented()))</pre>"
        } else if let type = given?.value["content"]?.object?.keys.first {
            example += "<h3>Response</h3><p>\(given?.key ?? ""), \(HTML.text(type))</p>"
        }
        return """
            <details class="route" id="\(id)" data-method="\(method)" data-path="\(HTML.text(path))"\
            \(self.trial(method, path, operation))>
            <summary><span class="method \(method)">\(method)</span> <code>\(HTML.text(path))</code> \
            <span class="about">\(about)</span></summary>
            <div class="content"><div>\(tables.joined(separator: "\n"))</div><div>\(example)</div></div>
            </details>
            """
    }

    private func area(of operation: JSONValue) -> String? { operation["tags"]?[0]?.string }

    private func access(_ operation: JSONValue) -> String {
        let ways = operation["security"]?.array ?? []
        guard let first = ways.first?.object else { return "Any caller may make this call." }
        guard let name = first.keys.first else {
            return "On this machine any caller may; others show the credentials of the cloud API."
        }
        return self.document["components"]?["securitySchemes"]?[name]?["description"]?.string ?? ""
    }

    /// The attributes for trying the call: through the relay, or with the credentials; none for a device's signed call.
    private func trial(_ method: String, _ path: String, _ operation: JSONValue) -> String {
        let way = operation["security"]?[0]?.object?.keys.first
        if way == "code" || way == "token" || path.hasPrefix("/pa/") || path.hasSuffix("/events") { return "" }
        var attributes = " data-try=\"\(way ?? "open")\""
        let relayed = path.replacing("/v2/", with: "/_emulator/cloud/", maxReplacements: 1)
        if way == "credentials", relayed != path, self.document["paths"]?[relayed]?[method.lowercased()] != nil {
            attributes += " data-relay=\"\(HTML.text(relayed))\""
        }
        if let body = operation["requestBody"]?["content"]?["application/json"] {
            attributes += " data-body=\"\(HTML.text(self.body(body).indented()))\""
        }
        return attributes
    }

    private func body(_ body: JSONValue) -> JSONValue { body["example"] ?? self.example(body["schema"] ?? .null) }

    /// The call as a command; braces mark values to fill in.
    private func command(_ method: String, _ path: String, _ operation: JSONValue) -> String {
        var lines = ["curl -X \(method) \(Self.quoted(self.server + path))"]
        if operation["security"]?.array?.contains(where: { $0["credentials"] != nil }) == true,
            operation["security"]?[0]?.object?.members.isEmpty == false
        {
            lines.append("  -u developer:PASSWORD")
        }
        if let body = operation["requestBody"]?["content"]?["application/json"] {
            lines += ["  -H 'Content-Type: application/json'", "  -d \(Self.quoted(self.body(body).indented()))"]
        }
        return lines.joined(separator: " \\\n")
    }

    private static func quoted(_ word: String) -> String { "'\(word.replacing("'", with: "'\\''"))'" }

    // MARK: Tables

    private static func table(_ title: String, _ rows: [String]) -> [String] {
        guard !rows.isEmpty else { return [] }
        let head =
            "<thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Type</th><th scope=\"col\">Meaning</th></tr></thead>"
        return ["<h3>\(title)</h3><table>\(head)<tbody>\(rows.joined())</tbody></table>"]
    }

    private func parameterRow(_ parameter: JSONValue) -> String {
        self.row(
            parameter["name"]?.string ?? "",
            parameter["schema"] ?? .null,
            parameter["description"]?.string ?? "In the path.",
            isNeeded: parameter["required"]?.bool == true
        )
    }

    private func row(_ name: String, _ schema: JSONValue, _ about: String, isNeeded: Bool) -> String {
        let needed = isNeeded ? " <span class=\"needed\">required</span>" : ""
        return "<tr><td><code>\(HTML.text(name))</code>\(needed)</td><td>\(self.typeLink(schema))</td>"
            + "<td>\(HTML.text(about))</td></tr>"
    }

    /// The members of a form, followed by those of its nameless forms.
    private func memberRows(_ schema: JSONValue, prefix: String = "", depth: Int = 0) -> [String] {
        let form = self.resolved(self.chosen(schema))
        let needed = Set(form["required"]?.array?.compactMap(\.string) ?? [])
        return (form["properties"]?.object?.members ?? []).flatMap { member -> [String] in
            let name = prefix + member.key
            let about = member.value["description"]?.string ?? ""
            let own = self.row(name, member.value, about, isNeeded: needed.contains(member.key))
            guard depth < 6 else { return [own] }
            let inner = self.chosen(member.value)["items"] ?? member.value
            guard self.reference(self.chosen(inner)) == nil else { return [own] }
            return [own] + self.memberRows(inner, prefix: "\(name).", depth: depth + 1)
        }
    }

    private var shapes: [String] {
        (self.document["components"]?["schemas"]?.object?.members ?? []).map { shape in
            let rows = self.memberRows(shape.value)
            let content =
                Self.table("Members", rows).first ?? "<p class=\"muted\">\(self.typeLink(shape.value, isOwn: true))</p>"
            return """
                <details class="route shape" id="shape-\(HTML.text(shape.key))">
                <summary><code>\(HTML.text(shape.key))</code></summary><div class="content">\(content)</div></details>
                """
        }
    }

    // MARK: Schemas

    private func reference(_ schema: JSONValue) -> String? {
        schema["$ref"]?.string.flatMap { $0.split(separator: "/").last.map(String.init) }
    }

    private func resolved(_ schema: JSONValue) -> JSONValue {
        self.reference(schema).flatMap { self.document["components"]?["schemas"]?[$0] } ?? schema
    }

    /// The form of an optional one.
    private func chosen(_ schema: JSONValue) -> JSONValue {
        schema["oneOf"]?.array?.first { $0["$ref"] != nil } ?? schema
    }

    /// A type in a few words; a named form is a link.
    private func typeLink(_ given: JSONValue, isOwn: Bool = false) -> String {
        let schema = self.chosen(given)
        if let name = self.reference(schema) { return "<a href=\"#shape-\(HTML.text(name))\">\(HTML.text(name))</a>" }
        if let values = schema["enum"]?.array {
            return HTML.text(values.filter { !$0.isNull }.map { $0.string ?? $0.plain }.joined(separator: " | "))
        }
        let types = schema["type"]?.array ?? schema["type"].map { [$0] } ?? []
        let name = types.compactMap(\.string).filter { $0 != "null" }.joined(separator: " or ")
        if name == "array" { return "list of \(self.typeLink(schema["items"] ?? .null))" }
        if let format = schema["format"]?.string { return HTML.text("\(name), \(format)") }
        if let least = schema["minimum"]?.number, let most = schema["maximum"]?.number {
            return "\(name) \(least) to \(most)"
        }
        return name.isEmpty ? "anything" : HTML.text(name)
    }

    /// An example value, from the form's own examples if it has some.
    private func example(_ given: JSONValue, depth: Int = 0) -> JSONValue {
        let schema = self.resolved(self.chosen(given))
        if let example = given["examples"]?[0] ?? schema["examples"]?[0] { return example }
        if let values = schema["enum"]?.array, let first = values.first { return first }
        let types = schema["type"]?.array ?? schema["type"].map { [$0] } ?? []
        switch types.compactMap(\.string).first {
        case "object":
            let needed = Set(schema["required"]?.array?.compactMap(\.string) ?? [])
            let properties = (schema["properties"]?.object?.members ?? []).filter { _ in depth < 5 }
            let members = properties.compactMap { member -> JSONObject.Member? in
                let value = Self.words[member.key]
                guard needed.contains(member.key) || value != nil else { return nil }
                let isText = value != nil && self.typeLink(member.value) == "string"
                return .init(
                    key: member.key,
                    value: isText ? value ?? .null : self.example(member.value, depth: depth + 1)
                )
            }
            return .object(JSONObject(members))
        case "array":
            return depth < 3 ? [self.example(schema["items"] ?? .null, depth: depth + 1)] : []
        case "integer", "number": return schema["minimum"] ?? 0
        case "boolean": return true
        case "string": return Self.exampleString(schema["format"]?.string)
        default: return .object(JSONObject())
        }
    }

    /// Examples of common members, including optional ones.
    private static let words: [String: JSONValue] = [
        "userId": "alice", "template": "payment", "subject": "Statement", "summary": "It is ready",
        "callbackUrl": "http://localhost:8080/hook",
    ]

    private static func exampleString(_ format: String?) -> JSONValue {
        switch format {
        case "date-time": "2026-01-31T12:00:00.000Z"
        case "byte": "AAECAwQFBgc="
        default: "string"
        }
    }
}

private enum HTML {
    /// Escapes a string for markup and attributes.
    static func text(_ string: String) -> String {
        var result = ""
        for character in string.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
