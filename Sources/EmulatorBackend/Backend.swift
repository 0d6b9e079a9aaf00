internal import Basics
package import EmulatorMessages
internal import ExactJSON
package import Foundation
internal import PowerAuthCrypto
internal import PowerAuthProtocol

/// All state of the development server, as a value, and the rules it changes by.
///
/// Each request is one call of ``reply(to:at:)``. A handler first decides and then applies: what it throws leaves the
/// state as it was, except for what a failure counts and what a right signature moved. Time and randomness come from
/// outside, so tests need neither clock nor socket.
package struct Backend: Sendable {
    package var state: BackendState
    package let operationTemplates: [String: OperationTemplate]
    package let limits: EmulatorLimits
    let capacity: EmulatorCapacity
    private let applicationName: String
    private let cloudCredentials: [UInt8]?

    /// - Throws: ``TemplateError`` when a template of the configuration cannot be used.
    package init(configuration: BackendConfiguration, randomness: Randomness) throws {
        var randomness = randomness
        let application = try ServerApplication(id: configuration.applicationID, randomness: &randomness)
        var state = BackendState(application: application, randomness: randomness)
        _ = state.takeChanges()  // a state that is new is written whole
        try self.init(state: state, configuration)
    }

    package init(state: BackendState, _ configuration: BackendConfiguration) throws(TemplateError) {
        self.state = state
        self.limits = configuration.limits
        self.capacity = configuration.capacity
        self.applicationName = configuration.applicationName
        self.cloudCredentials = configuration.cloudCredentials.map { Array($0.utf8) }
        var templates: [String: OperationTemplate] = [:]
        for text in OperationTemplate.builtIn + configuration.templates {
            let template = try OperationTemplate(parsing: text)
            templates[template.name] = template
        }
        self.operationTemplates = templates
    }

    /// Answers `/pa/v3`, `/api` and `/v2`. Anything else is 404 in the API's error shape.
    package mutating func reply(to request: ReceivedRequest, at now: Date) -> Reply {
        var context = RequestContext(request, at: now.milliseconds)
        context.events = self.settle(at: now)
        do {
            return Reply(try self.answer(&context), context)
        } catch {
            return Reply(error, context)
        }
    }

    private mutating func answer(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let route: Route
        switch Self.routes.match(method: context.request.method, path: context.request.path) {
        case .route(let found, let arguments): (route, context.pathArguments) = (found, arguments)
        case .wrongMethod(let allowed): throw .wrongMethod(allowed: allowed)
        case .none: throw .notFound
        }
        if route.caller == .cloud { try self.checkCloudCredentials(of: context.request) }
        try Self.checkContentType(of: context.request)
        let added = try self.reserveCapacity(for: route.addition, context)
        let answer = try route.perform(&self, &context)
        self.state.storedBytes += added
        return answer
    }

    func serverStatus(_ context: RequestContext) throws(Refusal) -> ServerResponse {
        _ = try context.json()
        return .object([
            "serverTime": .number(JSONNumber(context.now)),
            "application": ["name": .string(self.applicationName), "version": "1.0.0"],
        ])
    }

    private func checkCloudCredentials(of request: ReceivedRequest) throws(Refusal) {
        let words = (request.header("Authorization") ?? "").split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].equalsIgnoringASCIICase("Basic"), let given = Base64.decode(String(words[1])),
            let expected = self.cloudCredentials, constantTimeEquals(given, expected)
        else { throw .wrongCloudCredentials }
    }

    private static func checkContentType(of request: ReceivedRequest) throws(Refusal) {
        guard request.method == "POST" || request.method == "PUT" else { return }
        guard let value = request.header("Content-Type") else {
            guard request.body.isEmpty else { throw .wrongContentType }
            return
        }
        let type = value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
        guard type == "application/json" || type.hasPrefix("application/") && type.hasSuffix("+json") else {
            throw .wrongContentType
        }
    }

    // MARK: - Time

    /// Does what has become due by `now` without any request: operations and activation codes that expire.
    package mutating func settle(at now: Date) -> [BackendEvent] {
        var context = RequestContext(ReceivedRequest(method: "", path: ""), at: now.milliseconds)
        for operation in self.state.operations.expire(at: context.now) { context.report(operation) }
        self.expireActivations(&context)
        return context.events
    }

    /// When ``settle(at:)`` will next have something to do.
    package var nextDeadline: Date? {
        let deadlines = [self.state.operations.nextExpiration, self.state.nextActivationExpiration].compactMap(\.self)
        return deadlines.min().map(Date.init(milliseconds:))
    }

    // MARK: - Applications

    var defaultApplicationID: String { self.state.defaultApplicationID }

    func application(ofKey key: String) -> ServerApplication? {
        // There are a handful.
        self.state.applications.values.first { $0.key == key }
    }
}
