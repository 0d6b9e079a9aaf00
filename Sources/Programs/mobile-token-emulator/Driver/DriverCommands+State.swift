import Basics
import CommandLineSupport
import ExactJSON
import HTTPClientTransport
import MobileToken
import MobileTokenEmulator

// Time, faults, and the whole state.

extension DriverCommands {
    static let clock = Command(
        "clock",
        summary: "Show the server's time, or set it.",
        discussion: "Expiry, token windows and one-time codes follow it. Without options it only shows the time.",
        options: RemoteServer.options + [
            .init("now", "DATE", "the time to show, in ISO 8601, such as 2026-03-01T08:00:00Z"),
            .init("advance", "SECONDS", "by how many to move it; negative ones move it back"),
            .init("freeze", nil, "let it stand still until it is moved"),
            .init("resume", nil, "let it run, from --now or with the machine's time"),
            .init("settle", nil, "before and after, wait until devices, deliveries and held requests have nothing due"),
        ]
    ) { invocation in
        guard !invocation.has("freeze") || !invocation.has("resume") else {
            throw invocation.misuse("--freeze and --resume exclude each other")
        }
        let mode: JSONValue? = invocation.has("freeze") ? "manual" : invocation.has("resume") ? "real" : nil
        let advance = try invocation.number("advance")
        let change: [(String, JSONValue?)] = [
            ("now", invocation["now"].map { .string($0) }), ("mode", mode), ("advance", advance),
        ]
        let server = try RemoteServer(invocation)
        let isChange = change.contains { $0.1 != nil }
        let settle = ("settle", invocation.has("settle") ? JSONValue.bool(true) : nil)
        let response =
            isChange || invocation.has("settle")
            ? try await server.send(.put, "/clock", change + [settle]) : try await server.send(.get, "/clock")
        return Self.show(invocation, response) { "\($0.text("now"))  \($0.text("mode"))" }
    }

    static let settle = Command(
        "settle",
        summary: "Wait until no virtual device and no delivery has anything due or under way.",
        discussion: """
            What waits for a later time by the server's clock is shown, and not waited for. When the wait is over before, what
            still goes on is an error.
            """,
        options: RemoteServer.options + [.init("within", "SECONDS", "for how long to wait at most (default: 5)")]
    ) { invocation in
        let wait: JSONValue = .present([("within", try invocation.number("within"))])
        let response = try await RemoteServer(invocation)
            .send(.post, "/settle", body: wait.serialized(), timeout: .seconds(80))
        return Self.show(invocation, response) { response in
            let later = (response["later"]?.array ?? []).map { work in
                ["Later:", work.text("kind"), work.text("id"), work.text("subject"), work.text("due")]
                    .filter { !$0.isEmpty }.joined(separator: "  ")
            }
            return later.isEmpty ? "Settled." : later.joined(separator: "\n")
        }
    }

    static let fault = Command(
        "fault",
        summary: "Make requests fail on purpose, or show and remove such rules.",
        discussion: """
            A rule strikes the requests that match all that is given, and then does all that is given. Of several rules the
            first that strikes is applied. Without any option the rules are shown, and how many requests each has met.
            """,
        options: RemoteServer.options + [
            .init("clear", nil, "remove all rules, or those of --name"),
            .init("release", nil, "carry out what all rules, or those of --name, hold or deliver late"),
            .init("real", nil, "add the faults that real servers have, each now and then"),
            .init("name", "TEXT", "what the journal calls the rule"),
            .init("method", "NAME", "match this method"),
            .init("path", "PATTERN", "match this path; * is anything but a slash, ** anything"),
            .init("activation", "ID", "match the requests of this activation"),
            .init("nth", "NUMBER", "match only the n-th of them"),
            .init("first", "NUMBER", "match only so many of them"),
            .init("probability", "NUMBER", "match with this probability, 0 to 1"),
            .init("delay", "SECONDS", "wait before the request is looked at"),
            .init("jitter", "SECONDS", "wait up to so much longer, drawn for each request"),
            .init("status", "NUMBER", "respond with this status, and change nothing"),
            .init("code", "CODE", "the code of the error that comes with the status"),
            .init("retry-after", "SECONDS", "the response's Retry-After"),
            .init("reset", "WHEN", "reset the connection: before or after the change"),
            .init("page", "STATUS", "answer by a page in the server's stead, and change nothing"),
            .init("page-after", "STATUS", "the same, after the request was carried out"),
            .init("hold", "SECONDS", "hold requests, then carry them out in their order, whether clients wait or not"),
            .init("late", "SECONDS", "answer at once, 504 by default, and carry the request out later"),
            .init("repeat", "ANSWER", "carry the request out twice, and send the first or the second answer"),
            .init("strip", "HEADER", "let the request lose this header field on its way"),
            .init("body", "HOW", "spoil the body: truncated or garbage"),
            .init("content-type", "TYPE", "the response's content type"),
            .init("drip", "BYTES", "send the body at so many bytes a second"),
            .init("clock-skew", "SECONDS", "how fast the server's clock is for the request"),
        ]
    ) { invocation in
        let server = try RemoteServer(invocation)
        let match: [(String, JSONValue?)] = [
            ("method", invocation.text("method")), ("path", invocation.text("path")),
            ("activation", invocation.text("activation")), ("nth", try invocation.number("nth")),
            ("first", try invocation.number("first")), ("probability", try invocation.number("probability")),
        ]
        let effect: [(String, JSONValue?)] = [
            ("delay", try invocation.number("delay")), ("jitter", try invocation.number("jitter")),
            ("status", try invocation.number("status")),
            ("code", invocation.text("code")), ("retryAfter", try invocation.number("retry-after")),
            ("reset", invocation.text("reset")),
            (
                "page",
                try invocation.number("page-after").map { ["when": "after", "status": $0] }
                    ?? invocation.number("page").map { ["status": $0] }
            ),
            ("hold", try invocation.number("hold")), ("late", try invocation.number("late")),
            ("repeat", invocation.text("repeat")), ("strip", invocation.text("strip")),
            ("body", invocation.text("body")), ("contentType", invocation.text("content-type")),
            ("drip", try invocation.number("drip")), ("clockSkew", try invocation.number("clock-skew")),
        ]
        let name = invocation["name"]
        let hasMatch = match.contains { $0.1 != nil }
        let hasEffect = effect.contains { $0.1 != nil }
        let calls = ["clear", "release", "real"].filter(invocation.has)
        let (query, naming) = (name.map { [("name", $0)] } ?? [], name.map { "fault rule \($0)" })
        let rules: JSONValue
        switch (calls.first, hasMatch || hasEffect || calls.count > 1) {
        case ("clear", false): rules = try await server.send(.delete, "/faults", query: query, naming: naming)
        case ("release", false): rules = try await server.send(.post, "/faults/release", query: query, naming: naming)
        case ("real", false) where name == nil: rules = try await server.send(.post, "/faults/real")
        case (nil, true) where hasEffect:
            rules = try await server.send(
                .post,
                "/faults",
                [("name", invocation.text("name")), ("match", .present(match)), ("effect", .present(effect))]
            )
        case (nil, false) where name == nil: rules = try await server.send(.get, "/faults")
        default:
            throw invocation.misuse("a rule needs an effect, and --clear, --release and --real stand alone")
        }
        return Self.show(invocation, rules) { rules in
            let lines = zip(rules["rules"]?.array ?? [], rules["counts"]?.array ?? []).map { rule, count in
                let parts = [count["name"], rule["match"], rule["effect"]].compactMap(\.self)
                    .map { TextTable.printable(String(decoding: $0.serialized(), as: UTF8.self)) }
                return
                    (parts + [
                        "matched \(count.text("matched")), struck \(count.text("struck")), waiting \(count.text("waiting"))"
                    ]).joined(
                        separator: "  "
                    )
            }
            return lines.isEmpty ? "No faults." : lines.joined(separator: "\n")
        }
    }

    static let reset = Command(
        "reset",
        summary: "Go back to the state at the start, or that of the last import.",
        options: RemoteServer.options
    ) { invocation in
        let response = try await RemoteServer(invocation).send(.post, "/reset")
        return Self.show(invocation, response) { _ in "The state is that of the start." }
    }

    static let export = Command(
        "export",
        summary: "Write the whole state, keys included.",
        discussion: "A file is made readable to its owner alone. The server asks for its password.",
        operands: [.init("FILE", "where to (default: standard output)", isOptional: true)],
        options: RemoteServer.options
    ) { invocation in
        let state = try await RemoteServer(invocation).send(.get, "/export")
        let output = Output(isJSON: invocation.has("json"))
        if let file = invocation.operand(0) {
            do { try Emulator.writePrivately(state.serialized(), to: file) } catch {
                throw MobileTokenError(.storeFailed, "\(error)", underlying: error)
            }
            output.result(["file": .string(file)], text: "Wrote \(TextTable.printable(file)).")
        } else {
            Output.line(String(decoding: state.serialized(), as: UTF8.self))
        }
        return .done
    }

    static let importState = Command(
        "import",
        summary: "Replace the whole state by an exported one, also for the next reset.",
        operands: [.init("FILE", "what 'export' wrote")],
        options: RemoteServer.options
    ) { invocation in
        let state = try Self.contents(of: try invocation.required(0), invocation)
        let response = try await RemoteServer(invocation).send(.post, "/import", body: state)
        return Self.show(invocation, response) { _ in "The state is that of the file." }
    }

    static let play = Command(
        "play",
        summary: "Make everything in a scenario file, or nothing.",
        discussion: """
            The file holds a JSON object: clock, templates, callbacks, registrations, devices, operations, messages and faults,
            each in the form of its request. What is wrong is said with its line, and nothing has changed then.
            """,
        operands: [.init("FILE", "the scenario")],
        options: RemoteServer.options
    ) { invocation in
        let scenario = try Self.contents(of: try invocation.required(0), invocation)
        let made = try await RemoteServer(invocation).send(.post, "/scenario", body: scenario)
        return Self.show(invocation, made) { Self.description(ofPlayed: $0) }
    }

    /// Returns a line for each object that a scenario made.
    static func description(ofPlayed made: JSONValue) -> String {
        let kinds: [(name: String, line: (JSONValue) -> String)] = [
            ("templates", { TextTable.printable($0.string ?? "") }),
            ("callbacks", { "\($0.text("callbackId"))  \($0.text("callbackUrl"))" }),
            (
                "registrations",
                { "\($0.text("registrationId"))  \($0.text("userId"))  \($0.text("activationQrCodeData"))" }
            ),
            ("devices", { "\($0.text("id"))  \($0.text("userId"))  \($0.text("version"))" }),
            ("operations", { "\($0.text("operationId"))  \($0.text("userId"))  \($0.text("operationType"))" }),
            ("messages", { "\($0.text("id"))  \($0.text("subject"))" }),
        ]
        let lines = kinds.flatMap { kind in
            (made[kind.name]?.array ?? []).map { "\(kind.name.dropLast())  \(kind.line($0))" }
        }
        return lines.isEmpty ? "Nothing was to be made." : lines.joined(separator: "\n")
    }

    // MARK: Templates

    static let templates = Command(
        "templates",
        summary: "Show the templates of operations, or the document of one.",
        operands: [.init("NAME", "the template", isOptional: true)],
        options: RemoteServer.options
    ) { invocation in
        let server = try RemoteServer(invocation)
        if let name = invocation.operand(0) {
            let path = "/templates/\(PercentEncoding.encode(name))"
            let template = try await server.send(.get, path, naming: "template \(name)")
            Output.line(String(decoding: template.serialized(), as: UTF8.self))
            return .done
        }
        let page = try await server.send(.get, "/templates", query: [("limit", "1000")])
        return Self.show(invocation, page) { page in
            var table = TextTable(header: "NAME", "TITLE", "PARAMETERS")
            for template in page["items"]?.array ?? [] {
                let names = (template["parameters"]?.array ?? []).compactMap(\.string).joined(separator: " ")
                table.add(template.text("name"), template.text("title"), names)
            }
            return table.text
        }
    }

    static let template = Command(
        "template",
        summary: "Add a template of operations from a file, or remove one, until a reset.",
        operands: [.init("FILE", "the template, as JSON", isOptional: true)],
        options: RemoteServer.options + [.init("remove", "NAME", "remove this one")]
    ) { invocation in
        let server = try RemoteServer(invocation)
        switch (invocation.operand(0), invocation["remove"]) {
        case (let file?, nil):
            let document = try Self.contents(of: file, invocation)
            let template = try await server.send(.post, "/templates", body: document)
            return Self.show(invocation, template) { "Added \($0.text("name"))." }
        case (nil, let name?):
            let path = "/templates/\(PercentEncoding.encode(name))"
            let response = try await server.send(.delete, path, naming: "template \(name)")
            return Self.show(invocation, response) { _ in "Removed \(TextTable.printable(name))." }
        default:
            throw invocation.misuse("give a file, or --remove")
        }
    }
}

extension Invocation {
    fileprivate func text(_ option: String) -> JSONValue? { self[option].map { .string($0) } }

    /// Returns an option's value as a JSON number; the server checks its range.
    fileprivate func number(_ option: String) throws -> JSONValue? {
        guard let value = self[option] else { return nil }
        guard let number = JSONNumber(literal: value) else {
            throw self.misuse("--\(option) takes a number")
        }
        return .number(number)
    }
}

extension JSONValue {
    /// Returns an object of the members with a value.
    fileprivate static func present(_ members: [(String, JSONValue?)]) -> Self {
        .object(JSONObject(members.compactMap { name, value in value.map { .init(key: name, value: $0) } }))
    }
}
