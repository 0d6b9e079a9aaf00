import CommandLineSupport
import EmulatorHTTP
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenEmulator
import Synchronization

/// The development server as a command.
enum EmulatorCommands {
    static let all = [emulator, execute, wait]

    private static let options: [Command.Option] = [
        .init("host", "ADDRESS", "the address to bind to (default: 127.0.0.1)"),
        .init("port", "NUMBER", "the port to bind to (default: a free one)"),
        .init("public-url", "URL", "its address behind a proxy (default: the name that a client uses)"),
        .init("tls", nil, "serve HTTPS with a throw-away certificate; its file and pin are shown"),
        .init("user", "NAME", "the user of the cloud API (default: developer)"),
        .init("password", "TEXT", "the password of the cloud API (default: a random one)"),
        .init("server", "RELEASE", "the release of real servers to behave as: 1.9, 1.10, 2.1 or 2.2 (default: 2.2)"),
        .init("documented-answers", nil, "let the cloud API answer with what PowerAuth Cloud documents alone"),
        .init("minimum-version", "NUMBER", "the oldest version of the protocol to accept: 3 or 4 (default: 3)"),
        .init("suites", "NAMES", "the suites of version 4 to accept, with commas between (default: all)"),
        .init("offer-upgrade", nil, "offer activations of version 3 the upgrade to version 4"),
        .init("data", "FILE", "keep the state in this file, of mode 0600"),
        .init("seed", "FILE", "start from an exported state, unless --data has one"),
        .init("export-on-exit", "FILE", "write the state to this file, of mode 0600, at the end"),
        .init("push-url", "URL", "send what would be pushed to devices to this address"),
        .init("random-seed", "NUMBER", "fix identifiers, keys and nonces; on loopback the password too"),
        .init("templates", "PATH", "operation templates: a file, or a folder of files that end in .json"),
        .init("scenario", "FILE", "start with what 'play' makes of this scenario, unless --data has a state"),
        .init("look-ahead", "NUMBER", "how far a device's counter may be ahead, 1 to 64 (default: 20)"),
        .init("log", nil, "write a line for each request to standard error"),
    ]

    static let emulator = Command(
        summary: "Run a development server until interrupted.",
        discussion: """
            It speaks the protocol strictly, keeps its state in memory, and is for development only. With --json the first
            line on standard output, once it accepts connections, says how to reach it.
            """,
        options: options + [.init("register", "USER", "register a device for a user, and show its activation code")]
    ) { invocation in
        let (emulator, made) = try await start(invocation)
        let output = Output(isJSON: invocation.has("json"))
        output.result(document(emulator), text: description(emulator))
        if let made { output.result(made, text: DriverCommands.description(ofPlayed: made)) }
        if let user = invocation["register"] {
            let registration = try await emulator.cloud.register(userID: user)
            output.result(
                ["userId": .string(user), "activationCode": .string(registration.activationQRCode)],
                text: "  activation code    \(registration.activationCode), for \(user)"
            )
            if !output.isJSON, Output.isTerminal, let code = registration.terminalQRCode { Output.line(code) }
        }
        await waitForCancellation()
        try await stop(emulator, invocation)
        return .done
    }

    static let execute = Command(
        "exec",
        summary: "Run a command beside a development server, and end with its exit status.",
        discussion: """
            The command finds the server in MOBILE_TOKEN_URL, MOBILE_TOKEN_SDK_CONFIGURATION, MOBILE_TOKEN_CLOUD_URL,
            MOBILE_TOKEN_CLOUD_USER, MOBILE_TOKEN_CLOUD_PASSWORD and MOBILE_TOKEN_APPLICATION_ID; with --tls, what to trust
            in MOBILE_TOKEN_CA_FILE and MOBILE_TOKEN_PIN.

            A test that wants a server of its own sends POST to MOBILE_TOKEN_SPACES_URL, and finds it at the url of the
            response. With --per-test the command is told of nothing else but the credentials and what to trust, so that a
            test that makes no space fails, instead of meeting what another one left behind. --scenario, --state and --from
            then say what each space begins with.

            A test that failed sends POST to the space's address below MOBILE_TOKEN_SPACES_URL, with /failure added. Its state,
            journal and summary are written to the folder of --report. With --keep-failed the server stays until it is
            interrupted, once a command has failed that had such a test.
            """,
        operands: [.init("COMMAND", "the command and its arguments, after --", takesRest: true)],
        options: options + [
            .init("per-test", nil, "let each test make a space of its own; see above"),
            .init("state", "FILE", "with --per-test: begin each space with this exported state"),
            .init("from", "server", "with --per-test: begin each space with what the server has"),
            .init("keep-failed", nil, "keep the spaces of failed tests until interrupted"),
            .init("report", "DIR", "write what is in the spaces of failed tests to this folder"),
        ]
    ) { invocation in
        let failed = FailedSpaces(folder: invocation["report"])
        let (emulator, _) = try await start(invocation) { configuration in
            configuration.keepsFailedSpaces = invocation.has("keep-failed")
            configuration.reportFailedSpace = { await failed.add($0) }
            configuration.spaceOrigin = try spaceOrigin(invocation)
            if let file = invocation["state"] {
                configuration.initialState = Data(try DriverCommands.contents(of: file, invocation))
            }
        }
        if invocation.has("per-test"), beginnings.contains(where: { invocation[$0] != nil }) {
            try await tryOut(emulator)
        }
        var variables = environment(emulator)
        let shared = invocation.has("per-test") ? sharedVariables : []
        for name in shared { variables[name] = nil }
        let status = try await ChildProcess.run(
            invocation.operands,
            environment: variables,
            removing: shared.union(waysToAnotherServer)
        )
        let isKept = invocation.has("keep-failed") && status != .done
        if await failed.show(areKept: isKept), isKept {
            Output.note("The server stays until it is interrupted.")
            await waitForCancellation()
        }
        try await stop(emulator, invocation)
        return status
    }

    /// The options for a space's initial content.
    private static let beginnings = ["scenario", "state", "from"]

    /// Returns the default origin of tests' spaces.
    private static func spaceOrigin(_ invocation: Invocation) throws -> Emulator.SpaceOrigin? {
        let names = beginnings.filter { invocation[$0] != nil }
        guard invocation.has("per-test") else {
            guard invocation["state"] == nil, invocation["from"] == nil else {
                throw invocation.misuse("--state and --from need --per-test")
            }
            return nil
        }
        guard names.count < 2 else {
            throw invocation.misuse("--scenario, --state and --from exclude each other")
        }
        if let file = invocation["scenario"] {
            return .scenario(Data(try DriverCommands.contents(of: file, invocation)))
        }
        guard invocation["from"] == nil || invocation["from"] == "server" else {
            throw invocation.misuse("--from takes 'server'")
        }
        return names.isEmpty ? nil : .server
    }

    /// Makes a space and removes it, so that an unusable origin is reported before the first test.
    private static func tryOut(_ emulator: Emulator) async throws {
        do { await (try await emulator.makeSpace()).stop() } catch {
            await emulator.stop()
            throw error
        }
    }

    static let wait = Command(
        "wait",
        summary: "Wait until a development server accepts requests.",
        discussion: "The exit code is 10 when it does not in time.",
        options: [
            .init("url", "URL", "where it is (default: $MOBILE_TOKEN_CLOUD_URL)"),
            .init("ca-file", "FILE", "accept certificates issued by this authority (PEM)"),
            .init("within", "SECONDS", "the longest time to wait (default: 30)"),
        ]
    ) { invocation in
        let environment = ProcessInfo.processInfo.environment["MOBILE_TOKEN_CLOUD_URL"]
        guard let url = invocation["url"] ?? environment else {
            throw invocation.misuse("--url is missing")
        }
        var transport = CurlTransport.Configuration()
        if let file = invocation["ca-file"] { transport.tls.validation = .certificateAuthority(file: file) }
        try await waitUntilReady(
            HTTPRequest(.get, url: url + "/health", timeout: .seconds(5)),
            through: try CurlTransport(configuration: transport),
            within: invocation.seconds("within") ?? .seconds(30)
        )
        Output(isJSON: invocation.has("json")).result(["ready": true], text: "The server is ready.")
        return .done
    }

    private static func waitUntilReady(
        _ request: HTTPRequest,
        through transport: CurlTransport,
        within limit: Duration
    ) async throws {
        let end = ContinuousClock.now + limit
        var failure: (any Error)?
        while ContinuousClock.now < end {
            do {
                if try await transport.send(request).status == 200 { return await transport.shutdown() }
            } catch {
                failure = error
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        await transport.shutdown()
        throw MobileTokenError(.deadlinePassed, "The server is not ready", underlying: failure)
    }

    private static func waitForCancellation() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        await withTaskCancellationHandler {
            for await _ in stream {}
        } onCancel: {
            continuation.finish()
        }
    }

    /// - Returns: The server, and the objects made by the scenario, if there is one.
    private static func start(
        _ invocation: Invocation,
        _ change: (inout Emulator.Configuration) throws -> Void = { _ in }
    ) async throws -> (Emulator, JSONValue?) {
        var configuration = Emulator.Configuration()
        configuration.host = invocation["host"] ?? configuration.host
        configuration.port = UInt16(try invocation.integer("port", in: 0...65_535) ?? 0)
        if invocation.has("tls") { configuration.tls = .selfSigned }
        configuration.cloudUser = invocation["user"] ?? configuration.cloudUser
        configuration.cloudPassword = invocation["password"]
        configuration.profile = try profile(invocation)
        configuration.protocolRules = try protocolRules(invocation, configuration)
        configuration.dataFile = invocation["data"]
        configuration.pushURL = invocation["push-url"]
        configuration.publicURL = invocation["public-url"]
        configuration.seed = try invocation.integer("random-seed", in: 0...Int.max).map(UInt64.init)
        if let file = invocation["seed"] {
            guard let state = FileManager.default.contents(atPath: file) else {
                throw invocation.misuse("cannot read '\(file)'")
            }
            configuration.initialState = state
        }
        if let path = invocation["templates"] { try configuration.addTemplates(from: path) }
        if let steps = try invocation.integer("look-ahead", in: 1...64) { configuration.limits.lookAhead = steps }
        if invocation.has("log") {
            let isJSON = invocation.has("json")
            configuration.requestLog = { request in
                Output.note(isJSON ? String(decoding: request.document.serialized(), as: UTF8.self) : request.line)
            }
        }
        try change(&configuration)
        // With --per-test it is the initial content of each space.
        if configuration.spaceOrigin == nil, let file = invocation["scenario"] {
            configuration.scenario = Data(try DriverCommands.contents(of: file, invocation))
        }
        raiseDescriptorLimit()
        let emulator = try await Emulator.start(configuration: configuration)
        // A signal ends it gracefully, even on a slow machine: first a command of 'exec' ends, and then the state is exported. A
        // forced exit would interrupt that.
        TerminationSignals.mustFinish.store(true, ordering: .releasing)
        if emulator.isContinued, configuration.initialState != nil || configuration.scenario != nil {
            Output.note("The data file holds a state already: --seed and --scenario change nothing.")
        }
        return (emulator, await emulator.played)
    }

    private static func profile(_ invocation: Invocation) throws -> EmulatorServerProfile {
        guard let name = invocation["server"] else { return EmulatorServerProfile() }
        guard let release = EmulatorServerProfile.Release(rawValue: name) else {
            let known = EmulatorServerProfile.Release.allCases.map(\.rawValue).joined(separator: ", ")
            throw invocation.misuse("'\(name)' is none of the releases \(known)")
        }
        return EmulatorServerProfile(release)
    }

    private static func protocolRules(
        _ invocation: Invocation,
        _ configuration: Emulator.Configuration
    ) throws -> EmulatorProtocolRules {
        var rules = EmulatorProtocolRules()
        rules.minimumVersion = try invocation.integer("minimum-version", in: 3...4) ?? rules.minimumVersion
        rules.documentedAnswersOnly = invocation.has("documented-answers")
        if invocation.has("offer-upgrade") { rules.upgradeOffers = [configuration.applicationID] }
        let names = invocation["suites"]?.utf8.split(separator: UInt8(ascii: ",")).map { String(Substring($0)) }
        for name in names ?? [] {
            guard let suite = AlgorithmSuite(rawValue: name) else {
                let known = AlgorithmSuite.allCases.map(\.rawValue).joined(separator: ", ")
                throw invocation.misuse("'\(name)' is none of the suites \(known)")
            }
            rules.allowedSuites.insert(suite)
        }
        return rules
    }

    private static func stop(_ emulator: Emulator, _ invocation: Invocation) async throws {
        if let file = invocation["export-on-exit"] {
            try await emulator.export(toFile: file)
        }
        await emulator.stop()
    }

    private static func document(_ emulator: Emulator) -> JSONValue {
        var document: JSONObject = [
            "baseURL": .string(emulator.baseURL),
            "sdkConfiguration": .string(emulator.sdkConfiguration),
            "applicationKey": .string(emulator.applicationKey),
            "applicationSecret": .string(emulator.applicationSecret),
            "masterServerPublicKey": .string(emulator.masterServerPublicKey),
            "cloudUser": .string(emulator.cloudUser),
            "cloudPassword": .string(emulator.cloudPassword),
            "applicationId": .string(emulator.applicationID),
        ]
        if let certificate = emulator.certificate {
            document["caFile"] = .string(certificate.file)
            document["pin"] = .string(certificate.publicKeyPin)
        }
        return .object(document)
    }

    private static func description(_ emulator: Emulator) -> String {
        let trust = emulator.certificate.map { certificate in
            """

              certificate        --ca-file \(certificate.file)
              pin                --pin \(certificate.publicKeyPin)
            """
        }
        return """
            Development server, not for production. Ctrl-C ends it.

              console            \(emulator.cloudURL)/console/
              server             \(emulator.baseURL)
              SDK configuration  \(emulator.sdkConfiguration)
              documentation      \(emulator.cloudURL)/docs
              cloud API          \(emulator.cloudURL)/v2, user \(emulator.cloudUser), password \(emulator.cloudPassword)
              application        \(emulator.applicationID)\(trust ?? "")
            """
    }

    /// The variables that point to the state shared by all tests.
    private static let sharedVariables: Set = [
        "MOBILE_TOKEN_URL", "MOBILE_TOKEN_SDK_CONFIGURATION", "MOBILE_TOKEN_CLOUD_URL", "MOBILE_TOKEN_APPLICATION_ID",
    ]

    /// The variables that would direct the command's requests, or some of them, to another server.
    private static let waysToAnotherServer = ["MOBILE_TOKEN_POWERAUTH_URL", "MOBILE_TOKEN_PROXY"]

    private static func environment(_ emulator: Emulator) -> [String: String] {
        var environment = [
            "MOBILE_TOKEN_URL": emulator.baseURL,
            "MOBILE_TOKEN_SDK_CONFIGURATION": emulator.sdkConfiguration,
            "MOBILE_TOKEN_CLOUD_URL": emulator.cloudURL,
            "MOBILE_TOKEN_CLOUD_USER": emulator.cloudUser,
            "MOBILE_TOKEN_CLOUD_PASSWORD": emulator.cloudPassword,
            "MOBILE_TOKEN_APPLICATION_ID": emulator.applicationID,
            "MOBILE_TOKEN_SPACES_URL": emulator.cloudURL + "/_emulator/spaces",
        ]
        if let certificate = emulator.certificate {
            environment["MOBILE_TOKEN_CA_FILE"] = certificate.file
            environment["MOBILE_TOKEN_PIN"] = certificate.publicKeyPin
        }
        return environment
    }
}
