import EmulatorBackend
import MobileTokenCloud

/// Delivers queued callbacks to the bank while the server runs.
struct CallbackCourier: Sendable {
    let core: EmulatorCore

    func run() async {
        await withDiscardingTaskGroup { group in
            // Only a server with callbacks needs a client.
            var sender: CallbackSender?
            while await self.core.callbackQueue.waitForWork() {
                for delivery in self.core.callbackQueue.takeDue(at: await self.core.now.milliseconds) {
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
    /// connection that breaks before the bank was told or after. A late one is taken again when its time has come.
    private func deliver(_ delivery: Outbox.Delivery, _ sender: CallbackSender?) async {
        let fault = delivery.lateBy == nil ? await self.core.fault(forCallbackTo: delivery.message.url) : nil
        let effect = fault?.effect ?? FaultRule.Effect()
        // A server that stops forgets its undelivered callbacks.
        do { try await fault?.wait(by: self.core.clock) } catch { return }
        if let fault, let seconds = effect.late, effect.status == nil, effect.reset == nil {
            return await self.core.postpone(delivery, by: fault.name, seconds: seconds)
        }
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
            attempt.request ?? delivery.request(),
            attempt.outcome.reply(attempt.body),
            fault: delivery.lateBy ?? fault?.name,
            outcome: attempt.outcome
        )
    }
}

extension Backend {
    var activationStatuses: [String: String] {
        Dictionary(self.state.activations.newestFirst.map { ($0.id, $0.status.rawValue) }) { newest, _ in newest }
    }
}
