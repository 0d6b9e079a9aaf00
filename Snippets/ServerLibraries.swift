// An agent beside the neighbors of a server, with all traits.
// snippet.hide
#if Logging && Metrics && Tracing && ServiceLifecycle && AsyncHTTPClient
    // snippet.show
    import AsyncHTTPClient
    import HTTPClientTransport
    import Logging
    import Metrics
    import MobileToken
    import ServiceLifecycle
    import UnixSignals

    // snippet.hide
    let arguments = CommandLine.arguments
    let (url, sdkConfiguration, path, password) = (arguments[1], arguments[2], arguments[3], arguments[4])
    // snippet.show
    var settings = HTTPClient.Configuration()
    settings.redirectConfiguration = .disallow
    let http = HTTPClient(configuration: settings)
    let store = ActivationStore.sqlite(path: path)

    var configuration = MobileTokenClient.Configuration()
    configuration.store = store
    configuration.transport = AsyncHTTPTransport(client: http)
    configuration.logger = Logger(label: "approvals")
    configuration.observer = MetricsObserver()
    configuration.sendsTraceContext = true
    let client = try MobileTokenClient(baseURL: url, sdkConfiguration: sdkConfiguration, configuration: configuration)

    let agent = ApprovalAgent(
        fleet: client.makeFleet(),
        factors: { activation in try await activation.unlockKnowledge(password: password) }
    ) { review in
        review.operation.name == "login" ? .approve : .deferToPeople
    }
    let group = ServiceGroup(
        services: [store, client, agent],
        gracefulShutdownSignals: [.sigterm],
        logger: Logger(label: "group")
    )
    try await group.run()
    try await http.shutdown()
#endif
