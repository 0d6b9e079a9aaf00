import APIDescriptions
import EmulatorBackend
import ExactJSON

/// The OpenAPI 3.1 description of the server, generated only from its routes.
struct OpenAPIDocument {
    let routes: [any DescribedRoute]
    let server: String
    let profile: EmulatorServerProfile

    var json: JSONValue {
        [
            "openapi": "3.1.0",
            "info": [
                "title": "Mobile Token Emulator",
                "version": "1",
                "description": """
                A strict development server for push approval: PowerAuth 3.x and 4.0, the Mobile Token API, the cloud API \
                of a bank's backend, and a control API. Everything is served bare and under /enrollment-server, and the \
                cloud API under /powerauth-cloud too. x-origin tells which calls of it, and which members, are PowerAuth \
                Cloud's and which are this server's alone. The server behaves as \(self.profile.summary).
                """,
            ],
            "servers": [["url": .string(self.server)]],
            "tags": .array(self.areas.map { ["name": .string($0.name), "description": .string($0.summary)] }),
            "paths": .object(self.paths),
            "webhooks": .object(JSONObject(Webhook.all.map { .init(key: $0.name, value: $0.json) })),
            "components": ["schemas": .object(self.schemas), "securitySchemes": Self.securitySchemes],
        ]
    }

    private var areas: [RouteArea] {
        RouteArea.all.filter { area in self.routes.contains { area.contains($0.path) } }
    }

    private var paths: JSONObject {
        var paths: JSONObject = [:]
        for route in self.routes {
            var operations = paths[route.path]?.object ?? [:]
            operations[route.method.lowercased()] = .object(Self.operation(route))
            paths[route.path] = .object(operations)
        }
        return paths
    }

    private var schemas: JSONObject {
        var schemas: JSONObject = [:]
        for (name, schema) in Webhook.all.flatMap(\.body.namedForms) { schemas[name] = .object(schema.json) }
        for route in self.routes {
            let description = route.description
            var used =
                [Schema.refusal, description.request?.schema].compactMap(\.self) + description.query.map(\.schema)
            switch description.response {
            case .json(let schema), .events(_, let schema): used.append(schema)
            case .other, .nothing: break
            }
            for (name, schema) in used.flatMap(\.namedForms) where schemas[name] == nil {
                schemas[name] = .object(schema.json)
            }
        }
        return schemas
    }

    // MARK: - An operation

    private static func operation(_ route: any DescribedRoute) -> JSONObject {
        let description = route.description
        var operation: JSONObject = [
            "operationId": .string(OperationName(route).text), "summary": .string(description.summary),
        ]
        if let origin = description.origin {
            operation["x-origin"] = .string(origin.rawValue)
            operation["description"] = .string(origin.sentence)
        }
        operation["tags"] = RouteArea.of(route.path).map { [.string($0.name)] }
        let parameters = Self.pathParameters(route.path) + description.query.map(Self.parameter)
        if !parameters.isEmpty { operation["parameters"] = .array(parameters) }
        operation["requestBody"] = description.request.map(Self.requestBody)
        operation["responses"] = .object(Self.responses(description))
        operation["security"] = Self.security(description.access)
        return operation
    }

    private static func pathParameters(_ path: String) -> [JSONValue] {
        path.split(separator: "/").filter { $0.first == "{" }.map { segment in
            let name = String(segment.dropFirst().dropLast())
            return [
                "name": .string(name), "in": "path", "required": true, "schema": .object(Schema.word.json),
                "example": Schema.word.example(named: name),
            ]
        }
    }

    private static func parameter(_ parameter: RouteDescription.Parameter) -> JSONValue {
        let origin = RouteDescription.Origin.emulator
        var schema = parameter.schema.json
        if let unit = parameter.shownUnit { schema["x-unit"] = .string(unit.rawValue) }
        var object: JSONObject = [
            "name": .string(parameter.name), "in": "query", "required": .bool(parameter.isRequired),
            "description": .string(parameter.isOurs ? "\(parameter.summary) \(origin.sentence)" : parameter.summary),
            "schema": .object(schema), "example": parameter.shownExample,
        ]
        if parameter.isOurs { object["x-origin"] = .string(origin.rawValue) }
        return .object(object)
    }

    private static func requestBody(_ body: RouteDescription.Body) -> JSONValue {
        ["required": .bool(body.isRequired), "content": ["application/json": Self.content(body.schema)]]
    }

    static func content(_ schema: Schema) -> JSONValue {
        ["schema": .object(schema.json), "example": schema.example]
    }

    private static func responses(_ description: RouteDescription) -> JSONObject {
        var responses: JSONObject = [:]
        if let status = description.status {
            var response: JSONObject = ["description": .string(description.summary)]
            switch description.response {
            case .json(let schema): response["content"] = ["application/json": Self.content(schema)]
            case .events(let type, let schema):
                let form: JSONValue = [
                    "type": "string", "contentMediaType": "application/json", "contentSchema": .object(schema.json),
                    "description": .string(Self.eventSentences),
                ]
                let data = String(decoding: schema.example.serialized(), as: UTF8.self)
                response["content"] = .object(
                    JSONObject([
                        .init(
                            key: type,
                            value: ["schema": form, "example": .string("id: 1\nevent: operation\ndata: \(data)\n\n")]
                        )
                    ])
                )
            case .other(let type): response["content"] = .object(JSONObject([.init(key: type, value: [:])]))
            case .nothing: break
            }
            responses[String(status)] = .object(response)
        }
        for status in description.refusals {
            let (code, meaning) = Self.refusal(status)
            let refusal: JSONValue = ["code": .string(code), "message": "The reason in words"]
            responses[String(status)] = [
                "description": .string(meaning),
                "content": [
                    "application/json": [
                        "schema": .object(Schema.refusal.json),
                        "example": ["status": "ERROR", "responseObject": refusal],
                    ]
                ],
            ]
        }
        return responses
    }

    private static let eventSentences = """
        First an event 'ready'. Then an event for each change: 'id' is its number, 'event' what has changed, and 'data' an \
        object of this form. A comment every 10 seconds shows that the connection lives.
        """

    /// Returns the most frequent error code of a status, and its meaning.
    private static func refusal(_ status: Int) -> (code: String, meaning: String) {
        switch status {
        case 400: ("INVALID_REQUEST", "The request is not of its form, or the state forbids what it asks for.")
        case 401: ("ERROR_UNAUTHORIZED", "The request does not show what it must.")
        case 403:
            ("ACCESS_DENIED", "A page of another site sent it, or a name of the loopback interface was not used.")
        case 404: ("ERROR_NOT_FOUND", "There is no such thing.")
        case 409: ("INVALID_STATE", "The state forbids it.")
        case 413: ("INVALID_REQUEST", "The body is larger than 1 MiB.")
        case 415: ("INVALID_REQUEST", "The content type is another one.")
        case 503: ("CAPACITY_EXCEEDED", "The server holds too many requests.")
        case 507: ("CAPACITY_EXCEEDED", "There is no room for more.")
        default: ("ERROR_GENERIC", "The state could not be written.")
        }
    }

    // MARK: - Access

    private static func security(_ access: RouteDescription.Access) -> JSONValue {
        switch access {
        case .open: []
        case .credentials: [["credentials": []]]
        case .credentialsBeyondLoopback: [[:], ["credentials": []]]
        case .code: [["code": []]]
        case .token: [["token": []]]
        }
    }

    private static let securitySchemes: JSONValue = [
        "credentials": [
            "type": "http", "scheme": "basic",
            "description": "The user and the password of the cloud API, as the server shows them when it starts.",
        ],
        "code": [
            "type": "apiKey", "in": "header", "name": "X-PowerAuth-Authorization",
            "description": "A signature of version 3 or an authentication code of version 4, made by a device.",
        ],
        "token": [
            "type": "apiKey", "in": "header", "name": "X-PowerAuth-Token",
            "description": "The proof of a token that a device was given.",
        ],
    ]
}
