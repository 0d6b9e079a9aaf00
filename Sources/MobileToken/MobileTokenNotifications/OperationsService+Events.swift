public import MobileToken
import PowerAuth

extension OperationsService {
    /// Treats a push message about an operation or this activation as a hint to fetch the list.
    ///
    /// With a runner, polls as soon as 5 s have passed since the last poll and `Retry-After` allows it; otherwise fetches the list
    /// at once, as `refresh()` does. If a fetch is in progress, another one follows.
    public nonisolated func handle(_ push: PushPayload) {
        switch push {
        case .operationCreated, .operationFinished: break
        case .activationStatusChanged(let id) where id == self.channel.activationID: break
        case .activationStatusChanged, .inboxMessageReceived: return
        }
        self.fetchSoon()
    }

    /// Treats a server's callback as a hint to fetch the list, whatever operation it names: anyone may have sent it.
    ///
    /// With a runner, even a flood of callbacks causes at most one poll every 5 s, and none before `Retry-After` is over;
    /// otherwise fetches the list at once, as `refresh()` does.
    public nonisolated func handle(_ callback: OperationCallback) { self.fetchSoon() }
}
