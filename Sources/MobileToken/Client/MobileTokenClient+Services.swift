public import PowerAuth

extension MobileTokenClient {
    /// Creates a service for an activation's operations. Make one, and share it.
    ///
    /// - Parameters:
    ///   - activation: One of this client's activations.
    ///   - configuration: By default, the client's language and clock.
    public func operations(
        of activation: Activation,
        configuration: OperationsService.Configuration? = nil
    ) -> OperationsService {
        var defaults = OperationsService.Configuration()
        defaults.acceptLanguage = self.configuration.acceptLanguage
        defaults.clock = self.configuration.clock
        return OperationsService(activation: activation, configuration: configuration ?? defaults)
    }

    /// Returns the inbox of an activation, in the client's language.
    public func inbox(of activation: Activation) -> InboxService {
        InboxService(activation: activation, acceptLanguage: self.configuration.acceptLanguage)
    }

    /// Creates a service that registers an activation for push messages.
    public func push(for activation: Activation) -> PushService {
        PushService(activation: activation)
    }
}
