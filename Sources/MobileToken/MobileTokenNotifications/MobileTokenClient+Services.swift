public import PowerAuthClient

extension MobileTokenClient {
    /// Returns the inbox of an activation, in the client's language.
    public func makeInboxService(for activation: Activation) -> InboxService {
        InboxService(activation: activation)
    }

    /// Creates a service that registers an activation for push messages.
    public func makePushService(for activation: Activation) -> PushService {
        PushService(activation: activation)
    }
}
