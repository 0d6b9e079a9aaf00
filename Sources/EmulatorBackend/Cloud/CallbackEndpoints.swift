import Basics
package import EmulatorMessages
package import ExactJSON

/// The addresses that the bank wants to be told at.
enum CallbackEndpoints {
    static let routes: [Backend.Route] = [
        .cloud("GET", "/v2/callbacks", "Lists callbacks.", gives: .callbacks, Self.list),
        .cloud(
            "POST",
            "/v2/callbacks",
            adds: .callback,
            "Creates a callback: an address that is told when operations or activations change.",
            takes: .required(.newCallback),
            gives: .callback,
            Self.create
        ),
        .cloud("DELETE", "/v2/callbacks/{id}", "Removes a callback.", gives: .done, Self.remove),
        .cloud("GET", "/v2/callbacks/{id}", "Shows a callback.", gives: .callback, Self.show),
        .cloud(
            "PUT",
            "/v2/callbacks/{id}",
            adds: .contents,
            "Replaces a callback.",
            takes: .required(.newCallback),
            gives: .callback,
            Self.replace
        ),
    ]

    static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let callbacks = bank.state.callbacks.keysInOrder.compactMap { bank.state.callbacks[$0] }
        return .json(["callbacks": .array(callbacks.map(Self.presented))])
    }

    static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        var callback = try Self.callback(bank, context, id: "")
        callback.id = bank.state.randomness.identifier()
        bank.state.callbacks[callback.id] = callback
        return .json(Self.presented(callback))
    }

    static func show(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        .json(Self.presented(try Self.addressedCallback(bank, context)))
    }

    static func replace(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let id = try Self.addressedCallback(bank, context).id
        let callback = try Self.callback(bank, context, id: id)
        bank.state.callbacks[id] = callback
        return .json(Self.presented(callback))
    }

    static func remove(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        bank.state.callbacks[try Self.addressedCallback(bank, context).id] = nil
        return .ok
    }

    private static func addressedCallback(_ bank: Backend, _ context: RequestContext) throws(Refusal) -> Callback {
        guard let id = context.pathArguments.first, let callback = bank.state.callbacks[id] else {
            throw Refusal(404, "CALLBACK_NOT_FOUND", "There is no such callback")
        }
        return callback
    }

    /// Reads a callback from the body of a request.
    private static func callback(_ bank: Backend, _ context: RequestContext, id: String) throws(Refusal) -> Callback {
        let request = try context.json()
        let applicationID = try request.optionalString("appId") ?? bank.defaultApplicationID
        guard bank.state.applications[applicationID] != nil else {
            throw Refusal(404, "APPLICATION_NOT_FOUND", "There is no such application")
        }
        let typeName = try request.string("type")
        guard let kind = Callback.Kind(name: typeName) else {
            throw .invalidRequest("'type' is none of \(Callback.Kind.names.map(\.name).joined(separator: ", "))")
        }
        let url = try request.string("callbackUrl")
        try CallbackMessage.check(url: url, named: "callbackUrl")
        let attributes = try request.strings("attributes")
        for attribute in attributes where !kind.attributes.contains(where: attribute.isExactly) {
            throw .invalidRequest("'attributes' of \(kind.rawValue) are \(kind.attributes.joined(separator: ", "))")
        }
        let authentication = try CallbackAuthentication(
            request.optionalObject("authentication"),
            forCallbackTo: url
        )
        return Callback(
            id: id,
            applicationID: applicationID,
            name: try request.string("name"),
            kind: kind,
            typeName: typeName,
            url: url,
            attributes: attributes,
            user: authentication.user,
            password: authentication.password,
            oauth: authentication.oauth,
            identity: authentication.identity,
            maximumAttempts: try request.optionalInteger("maxAttempts").map(Int.init(clamping:)) ?? 1
        )
    }

    /// A callback without its secrets.
    fileprivate static func presented(_ callback: Callback) -> JSONValue {
        var object: JSONObject = [
            "callbackId": .string(callback.id), "name": .string(callback.name),
            "appId": .string(callback.applicationID),
            "type": .string(callback.typeName ?? callback.kind.rawValue), "callbackUrl": .string(callback.url),
            "attributes": .strings(callback.attributes), "maxAttempts": .number(JSONNumber(callback.maximumAttempts)),
        ]
        object["authentication"] = callback.shownAuthentication
        return .object(object)
    }
}

extension Schema {
    package static let newCallback = Self.object(
        "NewCallback",
        [
            .required("name", .word), .optional("appId", .string, "The application; the server's own if left out."),
            .required("type", .callbackType, "Whether operations or activations are told of."),
            .required("callbackUrl", .word, "Where to: an address of http or https."),
            .optional(
                "attributes",
                .list(of: .oneOf(Callback.Kind.allAttributes)),
                "What is told beside the type and the identifier; each type has its own."
            ),
            .optional("authentication", .newCallbackAuthentication),
            .optional("maxAttempts", .integer(1...100), "How often one delivery is tried; once by default."),
        ]
    )

    package static let callback = Self.object(
        "Callback",
        [
            .required("callbackId", .string), .required("name", .string), .required("appId", .string),
            .required("type", .callbackType), .required("callbackUrl", .string),
            .required("attributes", .strings), .required("maxAttempts", .count),
            .optional("authentication", .callbackAuthentication, "Without the secrets."),
        ]
    )

    private static var callbackType: Self { .oneOf(Callback.Kind.names.map(\.name)) }

    static let callbacks = Self.object("Callbacks", [.required("callbacks", .list(of: .callback))])
}

extension Backend {
    /// Every callback as the cloud API shows it, oldest first, by identifier.
    package var shownCallbacks: [(id: String, callback: JSONValue)] {
        self.state.callbacks.keysInOrder.compactMap { id in
            self.state.callbacks[id].map { (id, CallbackEndpoints.presented($0)) }
        }
    }
}
