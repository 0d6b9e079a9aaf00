import APIDescriptions
import Basics
import CloudCalls
package import EmulatorMessages
import ExactJSON
package import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

/// All state of the development server, as a value, and the rules it changes by.
///
/// Each request is one call of ``reply(to:at:)``. A handler first decides and then applies: what it throws leaves the
/// state as it was, except for what a failure counts and what a right signature moved. Time and randomness come from
/// outside, so tests need neither clock nor socket.
package struct Backend: Sendable {
    package var state: BackendState
    package private(set) var operationTemplates: OperationTemplates
    /// Those that every state has.
    private let configuredTemplates: OperationTemplates
    package let limits: EmulatorLimits
    let capacity: EmulatorCapacity
    /// The versions of the protocol that are accepted, until they are set otherwise.
    package var protocolRules: EmulatorProtocolRules
    /// The generation of real servers that the backend behaves as.
    package let profile: EmulatorServerProfile
    /// Dispatch and access follow from this table.
    let routes: RouteTable<Route>
    let applicationName: String
    /// The time by which the last request settled the state; a request with a skewed clock forgets nothing by its own.
    private(set) var settledUntil = Milliseconds.max
    let cloudCredentials: BasicCredentials?

    /// - Throws: ``DocumentMistake`` when a template of the configuration cannot be used.
    package init(configuration: BackendConfiguration, randomness: Randomness) throws {
        var randomness = randomness
        let application = try ServerApplication(id: configuration.applicationID, randomness: &randomness)
        var state = BackendState(application: application, randomness: randomness)
        for provider in configuration.oidcProviders { state.oidcProviders[provider.id] = provider }
        _ = state.takeChanges()  // a state that is new is written whole
        try self.init(state: state, configuration)
    }

    package init(state: BackendState, _ configuration: BackendConfiguration) throws(DocumentMistake) {
        self.state = state
        let routes = Self.routes(of: configuration.profile)
        self.routes = configuration.routes.isEmpty ? routes : RouteTable(routes.routes + configuration.routes)
        self.limits = configuration.limits
        self.capacity = configuration.capacity
        self.protocolRules = configuration.protocolRules
        self.profile = configuration.profile
        self.applicationName = configuration.applicationName
        self.cloudCredentials = configuration.cloudCredentials
        self.configuredTemplates = try OperationTemplates(parsing: configuration.templates)
        self.operationTemplates = try self.configuredTemplates.changed(by: state.templates)
    }

    /// The origin of a request.
    package enum Caller: Sendable {
        /// The network: the request shows what the endpoint asks for.
        case network
        /// A part of this process, trusted in the name of the cloud API's user. It shows nothing.
        case process
        /// The control API: trusted in the same way. As in all of its calls, what PowerAuth Cloud would ignore is refused.
        case controlAPI
    }

    /// Responds to a request below `/pa`, `/api` or `/v2`; to any other with 404 in the shape of the API's errors.
    ///
    /// - Parameter clockSkew: The number of seconds by which the clock that this request sees is fast. Nothing falls
    ///   due by it: operations expire, codes lapse and replays are forgotten by `now` alone.
    package mutating func reply(
        to request: ReceivedRequest,
        from caller: Caller = .network,
        at now: Date,
        clockSkew: Double = 0
    ) -> Reply {
        var context = RequestContext(request, from: caller, at: now.addingTimeInterval(clockSkew).milliseconds)
        context.events = self.settle(at: now)
        do {
            return Reply(try self.respond(&context), context)
        } catch {
            return Reply(self.worded(error, context), context)
        }
    }

    private mutating func respond(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let route: Route
        switch self.routes.match(method: context.request.method, path: context.request.path) {
        case .route(let found, let arguments): (route, context.pathArguments) = (found, arguments)
        case .wrongMethod(let allowed): throw .wrongMethod(allowed: allowed)
        case .none: throw .notFound
        }
        context.route = route
        if route.description.access == .credentials, context.caller == .network, !self.admits(context.request) {
            throw .wrongCloudCredentials
        }
        try Self.checkContentType(of: context.request, taking: route.description.request)
        return try route.handle(&self, &context)
    }

    /// Returns whether a request shows the credentials of a user of the cloud API.
    private func admits(_ request: ReceivedRequest) -> Bool {
        self.cloudCredentials?.areShown(by: request) == true
            || self.state.cloudUsers.values.contains { $0.credentials.areShown(by: request) }
    }

    private static func checkContentType(
        of request: ReceivedRequest,
        taking body: RouteDescription.Body?
    ) throws(Refusal) {
        let hasBody = !request.body.isEmpty || request.header("Content-Type") != nil
        guard request.method == "POST" || request.method == "PUT", hasBody, body?.isRead ?? true else { return }
        guard request.isJSON else { throw .wrongContentType }
    }

    /// Returns a refusal in the words of the API and the profile. PowerAuth Cloud has codes of its own. Real servers of the Mobile Token
    /// API answer 500 to a request that they cannot read, also where its authentication fails.
    private func worded(_ refusal: Refusal, _ context: RequestContext) -> Refusal {
        if context.route?.description.origin == .powerAuthCloud { return refusal.inWordsOfCloud }
        guard self.profile.isStrict, context.request.path.utf8.starts(with: "/api/".utf8) else { return refusal }
        if refusal.isUnreadable { return .unexpected(refusal.reason) }
        guard refusal.status == 401, context.route?.description.request?.isRead == true else { return refusal }
        do {
            _ = try context.json()
            return refusal
        } catch {
            return .unexpected("\(refusal.reason), and: \(error.reason)")
        }
    }

    // MARK: - Time

    /// Does what has become due by `now` without any request: operations and activation codes that expire.
    package mutating func settle(at now: Date) -> [BackendEvent] {
        var context = RequestContext(ReceivedRequest(method: "", path: ""), at: now.milliseconds)
        self.settledUntil = context.now
        for operation in self.state.operations.expire(at: context.now) { context.report(operation) }
        self.expireActivations(&context)
        return context.events
    }

    /// The time at which ``settle(at:)`` will next have something to do.
    package var nextDeadline: Date? {
        let deadlines = [self.state.operations.nextExpiration, self.state.nextActivationExpiration].compactMap(\.self)
        return deadlines.min().map(Date.init(milliseconds:))
    }

    /// Takes over what is set by the control API and in no data file: the rules of the protocol.
    package mutating func adoptRules(of other: Self) {
        self.protocolRules = other.protocolRules
    }

    // MARK: - Templates

    /// Adds a template, or replaces the one of its name, until the state is replaced.
    ///
    /// - Throws: A refusal when there is no room for one more, or when a waiting operation would not fit the template.
    package mutating func insert(_ template: OperationTemplate) throws(Refusal) {
        guard self.operationTemplates[template.name] != nil || self.operationTemplates.count < self.capacity.templates
        else {
            throw .capacityExceeded("There is room for \(self.capacity.templates) templates")
        }
        for operation in self.pendingOperations(from: template.name) {
            do { try template.fillEverywhere(operation.parameters.mapValues(\.value)) } catch {
                throw .invalidState("The operation \(operation.id) waits and could not be shown with it")
            }
        }
        self.operationTemplates.insert(template)
        self.state.templates[template.name] = ExportableJSON(template.document)
    }

    /// Removes a template, until the state is replaced.
    ///
    /// - Throws: A refusal when there is none, or when an operation that waits is made from it.
    package mutating func removeTemplate(_ name: String) throws(Refusal) {
        guard self.operationTemplates[name] != nil else { throw Refusal.noSuch("template") }
        if let operation = self.pendingOperations(from: name).first(where: { _ in true }) {
            throw Refusal(409, "INVALID_STATE", "The operation \(operation.id) waits and is made from it")
        }
        self.operationTemplates.remove(name)
        self.state.templates[name] = self.configuredTemplates[name].map { _ in ExportableJSON(.null) }
    }

    private func pendingOperations(from template: String) -> some Sequence<ServerOperation> {
        self.state.operations.newestFirst.lazy.filter { operation in
            guard operation.status == .pending, case .template(let name) = operation.content else { return false }
            return name.isExactly(template)
        }
    }

    // MARK: - Applications

    var defaultApplicationID: String { self.state.defaultApplicationID }

    /// Returns the version that a request names, such as `4.0`, or the one that is presumed where it names none.
    func majorVersion(named name: String?) throws(Refusal) -> MajorVersion {
        guard let name else { return self.protocolRules.presumedVersion }
        guard let version = MajorVersion(name: name) else {
            throw .invalidRequest("'protocolVersion' is none of \(MajorVersion.names.joined(separator: ", "))")
        }
        guard self.accepts(version) else {
            throw .invalidRequest("The server does not accept version \(name)")
        }
        return version
    }

    /// Returns whether requests of a version are accepted.
    func accepts(_ version: MajorVersion) -> Bool {
        self.protocolRules.accepts(version) && (version != .version4 || self.profile.servesVersion4)
    }

    /// Returns whether the activations of version 3 of an application are offered the upgrade.
    func offersUpgrade(to applicationID: String) -> Bool {
        self.profile.servesVersion4 && self.protocolRules.offersUpgrade(to: applicationID)
    }

    func application(ofKey key: String) -> ServerApplication? {
        // There are a handful.
        self.state.applications.values.first { $0.key == key }
    }
}
