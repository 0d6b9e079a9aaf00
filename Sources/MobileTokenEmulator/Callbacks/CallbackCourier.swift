import CloudCalls
import EmulatorBackend
import Foundation

/// Carries what is in the mailroom to the bank, for as long as the server runs.
struct CallbackCourier: Sendable {
    let core: EmulatorCore

    /// Delivers until the task is canceled.
    func run() async {
        await withDiscardingTaskGroup { group in
            // Only a server that calls out needs a client.
            var sender: CallbackSender?
            while await self.core.mailroom.waitForWork() {
                for delivery in self.core.mailroom.takeDue(at: await self.core.now.milliseconds) {
                    let known = sender ?? self.makeSender()
                    sender = known
                    group.addTask { await self.deliver(delivery, known) }
                }
            }
        }
    }

    private func makeSender() -> CallbackSender? {
        (try? CallbackSender.makeTransport()).map { CallbackSender(core: self.core, transport: $0) }
    }

    /// Tries a delivery once. Of a fault, what a client can meet applies: a delay, a status in the place of the bank's, a
    /// connection that breaks before the bank was told or after.
    private func deliver(_ delivery: Outbox.Delivery, _ sender: CallbackSender?) async {
        let fault = await self.core.fault(forCallbackTo: delivery.message.url)
        let effect = fault?.effect ?? FaultRule.Effect()
        // A server that stops forgets what it has not delivered.
        do { try await fault?.wait(by: self.core.clock) } catch { return }
        var attempt = CallbackSender.Attempt.failed("a fault broke the connection")
        if let status = effect.status {
            attempt.outcome = .response(status: status)
        } else if effect.reset != .before {
            let sent = await sender?.send(delivery) ?? .failed("there is no HTTP client")
            if effect.reset != .after { attempt = sent }
        }
        guard !Task.isCancelled else { return }
        await self.core.noteAttempt(
            delivery,
            attempt.request ?? delivery.message.request(),
            attempt.outcome.reply(attempt.body),
            fault: fault?.name,
            outcome: attempt.outcome
        )
    }
}

extension Backend {
    /// The status of each activation.
    var activationStatuses: [String: String] {
        Dictionary(self.state.activations.newestFirst.map { ($0.id, $0.status.rawValue) }) { newest, _ in newest }
    }
}
