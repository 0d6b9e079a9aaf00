import Basics
import EmulatorBackend
import EmulatorMessages
import Foundation
import HTTPClientTransport

/// Carries what is in the mailroom to the bank, for as long as the server runs.
struct CallbackCourier: Sendable {
    let core: EmulatorCore

    /// Delivers until the task is canceled.
    func run() async {
        await withDiscardingTaskGroup { group in
            // Only a server that calls out needs a client.
            var transport: (any HTTPTransport)?
            while await self.core.mailroom.waitForWork() {
                for delivery in self.core.mailroom.takeDue(at: await self.core.now.milliseconds) {
                    let known = transport ?? Self.makeTransport()
                    transport = known
                    group.addTask { await self.deliver(delivery, known) }
                }
            }
        }
    }

    private static func makeTransport() -> (any HTTPTransport)? {
        var configuration = CurlTransport.Configuration()
        configuration.timeout = .seconds(10)
        configuration.connectTimeout = .seconds(5)
        configuration.maximumConnections = Outbox.Capacity().underWay
        configuration.maximumResponseSize = 64 * 1024
        configuration.userAgent = .custom("mobile-token-emulator")
        return try? CurlTransport(configuration: configuration)
    }

    /// Tries a delivery once. Of a fault, what a client can meet applies: a delay, a status in the place of the bank's, a
    /// connection that breaks before the bank was told or after.
    private func deliver(_ delivery: Outbox.Delivery, _ transport: (any HTTPTransport)?) async {
        let fault = await self.core.fault(forCallbackTo: delivery.message.url)
        let effect = fault?.effect ?? FaultRule.Effect()
        if let delay = effect.delay, delay > 0 {
            // A server that stops forgets what it has not delivered.
            do { try await self.core.clock.sleep(for: Duration(boundedSeconds: delay)) } catch { return }
        }
        let attempt: Attempt
        if let status = effect.status {
            attempt = Attempt(outcome: .response(status: status))
        } else if effect.reset == .before {
            attempt = .reset
        } else {
            let sent = await Self.send(delivery.message, transport)
            attempt = effect.reset == .after ? .reset : sent
        }
        guard !Task.isCancelled else { return }
        let reply = attempt.outcome.reply(attempt.body)
        await self.core.noteAttempt(
            delivery,
            delivery.message.request,
            reply,
            fault: fault?.name,
            outcome: attempt.outcome
        )
    }

    /// What became of an attempt, and the body of the response.
    private struct Attempt {
        var outcome: Outbox.Outcome
        var body: [UInt8] = []

        static let reset = Self(outcome: .noResponse(reason: "a fault broke the connection"))
    }

    private static func send(_ message: CallbackMessage, _ transport: (any HTTPTransport)?) async -> Attempt {
        guard let transport else { return Attempt(outcome: .noResponse(reason: "there is no HTTP client")) }
        let headers = HTTPHeaders(message.headers.map { .init(name: $0.name, value: $0.value) })
        do {
            let request = HTTPRequest(.post, url: message.url, headers: headers, body: message.body)
            let response = try await transport.send(request)
            return Attempt(outcome: .response(status: response.status), body: response.body)
        } catch {
            return Attempt(outcome: .noResponse(reason: "\(error)"))
        }
    }
}

extension CallbackMessage {
    /// As the journal shows it.
    var request: ReceivedRequest {
        ReceivedRequest(method: "POST", path: self.url, headers: self.headers, body: self.body)
    }

    fileprivate var headers: [(name: String, value: String)] {
        [("Content-Type", "application/json")] + (self.authorization.map { [("Authorization", $0)] } ?? [])
    }
}

extension Backend {
    /// The status of each activation.
    var activationStatuses: [String: String] {
        Dictionary(self.state.activations.newestFirst.map { ($0.id, $0.status.rawValue) }) { newest, _ in newest }
    }
}
