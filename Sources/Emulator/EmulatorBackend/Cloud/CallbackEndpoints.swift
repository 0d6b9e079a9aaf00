import ExactJSON
package import MobileTokenCloud

/// The bank's callback addresses.
enum CallbackEndpoints {
    static let routes: [Backend.Route] = [
        .cloud(CloudAPI.listCallbacks) { (bank, _, _) throws(Refusal) in bank.shownCallbacks },
        .cloud(CloudAPI.createCallback, adds: .callback) { (bank, request, _) throws(Refusal) in
            var callback = try Callback(request, id: "", of: bank)
            callback.id = bank.state.randomness.identifier()
            bank.state.callbacks[callback.id] = callback
            return CloudAPI.Callback(callback)
        },
        .cloud(CloudAPI.removeCallback) { (bank, id, _) throws(Refusal) in
            bank.state.callbacks[try bank.callback(id).id] = nil
        },
        .cloud(CloudAPI.showCallback) { (bank, id, _) throws(Refusal) in CloudAPI.Callback(try bank.callback(id)) },
        .cloud(CloudAPI.replaceCallback, adds: .contents) { (bank, input, _) throws(Refusal) in
            let (id, request) = input
            let callback = try Callback(request, id: bank.callback(id).id, of: bank)
            bank.state.callbacks[id] = callback
            return CloudAPI.Callback(callback)
        },
    ]
}

extension Backend {
    fileprivate func callback(_ id: String) throws(Refusal) -> Callback {
        try self.state.callbacks[id].found("callback")
    }

    /// The message that tries a callback's address: it tells of no object, and follows none.
    package func testMessage(ofCallback id: String) throws(Refusal) -> CallbackMessage {
        let callback = try self.callback(id)
        let identifier = callback.kind == .operation ? "operationId" : "activationId"
        let content: JSONObject = [
            "type": .string(callback.kind.rawValue), identifier: .string(Callback.testedID),
        ]
        return callback.message(of: nil, content)
    }

    /// All callbacks in the cloud API's form, oldest first.
    package var shownCallbacks: [CloudAPI.Callback] {
        self.state.callbacks.keysInOrder.compactMap { self.state.callbacks[$0].map(CloudAPI.Callback.init) }
    }
}

extension Callback {
    fileprivate init(_ request: CloudAPI.NewCallback, id: String, of backend: Backend) throws(Refusal) {
        let applicationID = request.applicationID ?? backend.defaultApplicationID
        guard backend.state.applications[applicationID] != nil else {
            throw .unknownApplication("appId", applicationID)
        }
        try CallbackMessage.check(url: request.url, named: "callbackUrl")
        let authentication = try CallbackAuthentication(request.authentication, forCallbackTo: request.url)
        self.init(
            id: id,
            applicationID: applicationID,
            name: request.name,
            kind: CallbackKind(name: request.type) ?? .operation,
            typeName: request.type,
            url: request.url,
            attributes: request.attributes,
            user: authentication.user,
            password: authentication.password,
            oauth: authentication.oauth,
            identity: authentication.identity,
            maximumAttempts: request.maximumAttempts
        )
    }
}

extension CloudAPI.Callback {
    fileprivate init(_ callback: Callback) {
        self.init(
            id: callback.id,
            name: callback.name,
            applicationID: callback.applicationID,
            type: callback.typeName,
            url: callback.url,
            attributes: callback.attributes,
            maximumAttempts: callback.maximumAttempts,
            authentication: callback.shownAuthentication
        )
    }
}
