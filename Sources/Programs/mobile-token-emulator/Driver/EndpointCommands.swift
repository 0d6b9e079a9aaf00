import APIDescriptions
import Basics
import CommandLineSupport
import ExactJSON
import HTTPClientTransport
import MobileTokenEmulator

/// Commands generated from the control API's descriptions: each call below one of these paths has a command.
///
/// The path's segments are its operands; the members of query and body are its options.
enum EndpointCommands {
    /// The commands' first words, with the path prefixes of their calls.
    private static let groups = [
        ("activation", "/activations"), ("operation", "/operations"), ("device", "/devices"), ("space", "/spaces"),
        ("callback", "/callbacks/{id}"), ("callback", "/callbacks"),
        ("callback", "/cloud/callbacks"), ("delivery", "/deliveries"), ("protocol", "/protocol"), ("oidc", "/oidc"),
        ("message", "/messages"), ("message", "/cloud/inbox/messages"), ("message", "/cloud/messages"),
        ("push", "/pushes"),
    ]

    static let all: [Command] = ControlCalls.all.reduce(into: []) { commands, route in
        guard let command = Self.command(for: route), !commands.contains(where: { $0.path == command.path }) else {
            return
        }
        commands.append(command)
    }

    private static func command(for route: any DescribedRoute) -> Command? {
        // A call that always refuses is left out.
        guard route.description.status != nil else { return nil }
        for (group, path) in Self.groups where route.path.utf8.starts(with: "/_emulator\(path)".utf8) {
            let rest = route.path.utf8.dropFirst("/_emulator\(path)".utf8.count)
            guard rest.isEmpty || rest.first == UInt8(ascii: "/") else { continue }
            return EndpointCommand(route, group, String(Substring(rest))).command
        }
        return nil
    }
}

/// A command generated from a call's description.
private struct EndpointCommand: Sendable {
    let route: any DescribedRoute
    let words: (group: String, verb: String)
    let operands: [String]
    let parameters: [Parameter]

    /// - Parameter rest: The path without the group's prefix.
    init(_ route: any DescribedRoute, _ group: String, _ rest: String) {
        self.route = route
        let segments = rest.split(separator: "/").map(String.init)
        let names = segments.filter { !$0.isArgument }
        self.operands = route.path.split(separator: "/").map(String.init).filter(\.isArgument)
        if !names.isEmpty {
            self.words = (group, names.joined(separator: "-"))
        } else if segments.isEmpty, !self.operands.isEmpty, let name = route.description.name {
            // A call besides those of the cloud API for the same object: its method alone would give it the verb of one of these.
            self.words = (group, String(name.prefix(while: \.isLowercase)))
        } else {
            // The group's object is unique, unless its name in the path is a plural.
            let isOnly = segments.isEmpty && route.path.utf8.last != UInt8(ascii: "s")
            self.words = (group, Self.verb(route.method, isOfOne: !segments.isEmpty || isOnly, isOnly: isOnly))
        }
        let query = route.description.query.map { Parameter($0, isOfQuery: true, below: nil) }
        self.parameters = query + Parameter.all(in: route.description.request?.schema)
    }

    private static func verb(_ method: String, isOfOne: Bool, isOnly: Bool) -> String {
        switch method {
        case "GET": isOfOne ? "show" : "list"
        case "POST": "create"
        case "PUT": isOnly ? "set" : "replace"
        default: isOfOne ? "remove" : "remove-all"
        }
    }

    var command: Command {
        Command(
            self.words.group,
            self.words.verb,
            summary: self.route.description.summary.asImperative,
            operands: self.operands.map { operand in
                let name = String(operand.dropFirst().dropLast())
                return .init(name.uppercased(), name == "id" ? "the \(self.words.group)" : "the \(name)")
            },
            options: RemoteServer.options + self.parameters.map(\.option)
        ) { invocation in try await self.run(invocation) }
    }

    private func run(_ invocation: Invocation) async throws -> ExitCode {
        let given = try self.parameters.compactMap { parameter in
            try invocation[parameter.name].map { (parameter, try parameter.value(of: $0, invocation)) }
        }
        var path = self.route.path.dropFirst("/_emulator".count).description
        for (index, operand) in self.operands.enumerated() {
            path = path.replacing(operand, with: PercentEncoding.encode(try invocation.required(index)))
        }
        var body: JSONObject = [:]
        for (parameter, value) in given where !parameter.isOfQuery { parameter.put(value, into: &body) }
        let takesBody = self.route.description.request != nil
        let response = try await RemoteServer(invocation).send(
            HTTPRequest.Method(rawValue: self.route.method) ?? .get,
            path,
            query: given.filter(\.0.isOfQuery).map { ($0.member.name, $1.wordsOfQuery) },
            body: takesBody ? JSONValue.object(body).serialized() : nil,
            timeout: .seconds(80),
            naming: invocation.operand(0).map { "\(self.words.group) \($0)" }
        )
        return DriverCommands.show(invocation, response) { $0.shownLines(self.route.description.response) }
    }
}

/// A member of the query or the body, as an option.
private struct Parameter: Sendable {
    let member: Schema.Member
    let isOfQuery: Bool
    /// The object that contains the member; `nil` for the body itself.
    let owner: String?

    init(_ member: Schema.Member, isOfQuery: Bool, below owner: String?) {
        (self.member, self.isOfQuery, self.owner) = (member, isOfQuery, owner)
    }

    /// Returns the members of a body, and those of its objects.
    static func all(in schema: Schema?) -> [Self] {
        guard case .object(let members, _)? = schema?.strict else { return [] }
        return members.flatMap { member -> [Self] in
            guard case .object(let inner, nil) = member.schema.strict else {
                return [Self(member, isOfQuery: false, below: nil)]
            }
            return inner.map { Self($0, isOfQuery: false, below: member.name) }
        }
    }

    var name: String { ((self.owner.map { [$0] } ?? []) + [self.member.name]).map(\.hyphenated).joined(separator: "-") }

    var option: Command.Option {
        var words = [self.member.summary.isEmpty ? "the \(self.member.name)" : self.member.summary.asRemark]
        if case .string(let rule) = self.member.schema.strict, !rule.values.isEmpty {
            words.append("one of \(rule.values.joined(separator: ", "))")
        }
        let help = words.joined(separator: "; ") + (self.member.isRequired && self.owner == nil ? " (needed)" : "")
        return .init(self.name, self.placeholder, help)
    }

    private var placeholder: String {
        switch self.member.schema.strict {
        case .integer, .number: self.member.shownUnit == .seconds ? "SECONDS" : "NUMBER"
        case .timestamp: "MILLISECONDS"
        case .boolean: "true|false"
        case .string(let rule): rule.values.isEmpty ? "TEXT" : "NAME"
        case .list(let element): element.isSimple ? "TEXT,TEXT" : "JSON|@FILE"
        default: "JSON|@FILE"
        }
    }

    func value(of text: String, _ invocation: Invocation) throws -> JSONValue {
        switch self.member.schema.strict {
        case .list(let element) where element.isSimple:
            return .array(text.split(separator: ",").map { element.value(ofText: String($0)) })
        case .object, .anything, .list:
            do {
                guard text.utf8.first == UInt8(ascii: "@") else { return try JSONValue(parsing: Array(text.utf8)) }
                return try JSONValue(parsing: DriverCommands.contents(of: String(text.dropFirst()), invocation))
            } catch let error as JSONError {
                throw invocation.misuse("--\(self.name): \(error)")
            }
        case let schema: return schema.value(ofText: text)
        }
    }

    func put(_ value: JSONValue, into body: inout JSONObject) {
        guard let owner else {
            body[self.member.name] = value
            return
        }
        var object = body[owner]?.object ?? [:]
        object[self.member.name] = value
        body[owner] = .object(object)
    }
}

extension Schema {
    fileprivate var members: [Member] { if case .object(let members, _) = self.strict { members } else { [] } }

    /// The members of the listed objects; `nil` if it is no list of objects.
    fileprivate var elementMembers: [Member]? {
        guard case .list(let element) = self.strict, case .object(let members, _) = element.strict else { return nil }
        return members
    }

    /// Indicates whether it is neither an object nor a list.
    fileprivate var isWord: Bool {
        switch self.strict {
        case .string, .integer, .number, .boolean, .timestamp: true
        default: false
        }
    }

    /// Indicates whether a word can represent its values.
    fileprivate var isSimple: Bool {
        if case .list(let element) = self.strict { element.isSimple } else { self.isWord }
    }
}

extension JSONValue {
    fileprivate var wordsOfQuery: String { self.string ?? String(decoding: self.serialized(), as: UTF8.self) }

    /// Returns a list line by line, or an object member by member.
    ///
    /// - Parameter content: The response's description, which distinguishes a list of objects from another empty list.
    fileprivate func shownLines(_ content: RouteDescription.Content) -> String {
        let members = if case .json(let schema) = content { schema.members } else { [Schema.Member]() }
        let isOne = members.contains { $0.name == "id" }
        if !isOne, let list = members.first(where: { $0.schema.elementMembers != nil }) {
            let rows = self[list.name]?.array ?? []
            let columns = (list.schema.elementMembers ?? []).filter { column in
                rows.contains { $0[column.name]?.isNull == false }
            }
            return rows.isEmpty ? "There are none." : rows.map { $0.shownRow(columns) }.joined(separator: "\n")
        }
        let shown = self.object?.members.filter { !$0.value.isNull } ?? []
        return shown.map { "\($0.key)  \($0.value.shownWord)" }.joined(separator: "\n")
    }

    /// Returns the first members, including those of nested objects; absent ones keep their columns.
    private func shownRow(_ columns: [Schema.Member]) -> String {
        let words = columns.flatMap { column -> [String] in
            let value = self[column.name]
            guard column.schema.members.isEmpty else {
                return column.schema.members.filter(\.schema.isWord).map { value?[$0.name]?.shownWord ?? "-" }
            }
            return column.schema.isWord ? [value?.shownWord ?? "-"] : []
        }
        return words.prefix(7).joined(separator: "  ")
    }

    private var shownWord: String {
        self.isNull ? "-" : TextTable.printable(self.string ?? String(decoding: self.serialized(), as: UTF8.self))
    }
}

extension String {
    fileprivate var isArgument: Bool { self.utf8.first == UInt8(ascii: "{") }

    /// The name with hyphens: `userId` and `userID` as `user-id`.
    var hyphenated: String {
        var words = ""
        for character in self {
            if character.isUppercase, words.last?.isLowercase == true || words.last?.isNumber == true { words += "-" }
            words += String(character)
        }
        return words.lowercased()
    }

    /// A call's summary as an imperative: `Lists …` as `List …`.
    fileprivate var asImperative: String {
        var words = self.split(separator: " ", maxSplits: 1).map(String.init)
        guard let verb = words.first, verb.utf8.last == UInt8(ascii: "s") else { return self }
        words[0] = String(verb.dropLast(verb.hasSuffix("shes") ? 2 : 1))
        return words.joined(separator: " ")
    }

    /// The sentence within a help line.
    fileprivate var asRemark: String {
        let sentence = self.utf8.last == UInt8(ascii: ".") ? String(self.dropLast()) : self
        // A word that begins with two capitals is a name.
        guard sentence.dropFirst().first?.isUppercase == false else { return sentence }
        return sentence.prefix(1).lowercased() + sentence.dropFirst()
    }
}
