import CommandLineSupport
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken

/// Carries callbacks and pushes from a server to an address that the server itself cannot reach.
enum ListenCommand {
    static let listen = Command(
        "listen",
        summary: "Forward a development server's callbacks to an address of this machine, until interrupted.",
        discussion: """
            For a backend behind a fire wall. The server is asked for callbacks of every operation and activation, which are
            not sent but collected here; with --pushes, what would be pushed to devices as well, and with --all, what the server
            sends elsewhere. Each delivery is a line with the status that it was answered with, which the server is told as
            well. A server that restarts is waited for. Plain http is for addresses of this machine, unless --insecure-http is
            given.
            """,
        options: RemoteServer.options + [
            .init("forward-to", "URL", "where to, such as http://127.0.0.1:8080/callbacks"),
            .init("pushes", nil, "also what would be pushed to devices"),
            .init("all", nil, "also what the server sends to other addresses"),
        ]
    ) { invocation in
        guard let target = try invocation.forwardingURL("forward-to") else {
            throw UsageError(message: "--forward-to is missing", command: invocation.command)
        }
        let output = Output(isJSON: invocation.has("json"))
        let server = try RemoteServer(invocation)
        var configuration = CurlTransport.Configuration()
        configuration.userAgent = .custom("mobile-token-emulator")
        configuration.maximumResponseSize = 1 << 20
        let transport = try CurlTransport(configuration: configuration)
        // Before the callbacks are there nothing can be missed.
        var feed = try await Feed(of: server, path: "/deliveries/feed", list: "items", since: nil)
        let takesPushes = invocation.has("pushes")
        _ = try await Self.subscribe(to: server, takesPushes)
        output.result(
            ["listening": true, "url": .string(server.baseURL), "forwardTo": .string(target)],
            text: "Forwarding to \(TextTable.printable(target))."
        )
        while true {
            for delivery in try await feed.next() {
                let isCollected = Self.isCollected(delivery)
                // Another listener may have asked for pushes.
                guard isCollected ? takesPushes || !Self.isPush(delivery) : invocation.has("all") else { continue }
                let outcome = try await Self.forward(delivery, to: target, through: transport)
                output.result(Self.document(delivery, outcome), text: Self.line(delivery, outcome))
                if isCollected { try await Self.report(outcome, of: delivery, to: server) }
            }
            // A reset or a restart of the server has forgotten who listens; that it is gone the feed will say.
            _ = try? await Self.subscribe(to: server, takesPushes)
            try Task.checkCancellation()
        }
    }

    private enum Outcome {
        case status(Int)
        case failure(String)
    }

    /// Whether the server leaves it to listeners.
    private static func isCollected(_ delivery: JSONValue) -> Bool {
        URL(string: delivery["url"]?.string ?? "")?.host() == "listener.invalid" && delivery["state"] == "waiting"
    }

    private static func forward(
        _ delivery: JSONValue,
        to target: String,
        through transport: CurlTransport
    ) async throws -> Outcome {
        let request = HTTPRequest(
            .post,
            url: target,
            headers: ["Content-Type": "application/json"],
            body: Array((delivery["body"]?.string ?? "").utf8),
            timeout: .seconds(10)
        )
        do {
            return .status(try await transport.send(request).status)
        } catch let error as HTTPTransportError {
            return .failure(error.code.description)
        }
    }

    /// Tells the server what became of it. That it was reset meanwhile, or that another listener was faster, is no failure;
    /// that it is gone the feed will say.
    private static func report(_ outcome: Outcome, of delivery: JSONValue, to server: RemoteServer) async throws {
        let member: (String, JSONValue?) =
            switch outcome {
            case .status(let status): ("status", .number(JSONNumber(status)))
            case .failure(let reason): ("failure", .string(reason))
            }
        let path = "/deliveries/\(delivery["id"]?.number?.literal ?? "0")/outcome"
        do {
            _ = try await server.send(.post, path, [member], naming: "delivery")
        } catch is NotFound {
        } catch let error as MobileTokenError {
            if error.httpStatus != 409, !Feed.isPassing(error) {
                Output.note("\(CommandLineProgram.name): \(TextTable.printable("\(error)"))")
            }
        }
    }

    private static func subscribe(to server: RemoteServer, _ takesPushes: Bool) async throws -> JSONValue {
        // An older server takes no body here.
        guard takesPushes else { return try await server.send(.post, "/listeners") }
        return try await server.send(.post, "/listeners", [("pushes", true)])
    }

    private static func isPush(_ delivery: JSONValue) -> Bool { Self.body(of: delivery)["type"] == "PUSH" }

    private static func line(_ delivery: JSONValue, _ outcome: Outcome) -> String {
        let body = Self.body(of: delivery)
        let states = [body.text("status"), body.text("activationStatus"), body["payload"]?.text("messageType") ?? ""]
        let status = states.first { !$0.isEmpty } ?? ""
        let subject = [body.text("operationId"), body.text("activationId")].first { !$0.isEmpty } ?? ""
        let answer =
            switch outcome {
            case .status(let status): "\(status)"
            case .failure(let reason): reason
            }
        return "\(delivery.text("id"))  \(body.text("type"))  \(subject)  \(status)  -> \(answer)"
    }

    private static func document(_ delivery: JSONValue, _ outcome: Outcome) -> JSONValue {
        var (status, failure): (JSONValue, JSONValue) = (.null, .null)
        switch outcome {
        case .status(let number): status = .number(JSONNumber(number))
        case .failure(let reason): failure = .string(reason)
        }
        return .object(
            JSONObject([
                .init(key: "id", value: delivery["id"] ?? .null),
                .init(key: Self.isPush(delivery) ? "push" : "callback", value: Self.body(of: delivery)),
                .init(key: "status", value: status), .init(key: "failure", value: failure),
            ])
        )
    }

    private static func body(of delivery: JSONValue) -> JSONValue {
        (try? JSONValue(parsing: delivery["body"]?.string ?? "")) ?? .null
    }
}
