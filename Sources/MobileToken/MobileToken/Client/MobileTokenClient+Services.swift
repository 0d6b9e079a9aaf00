public import PowerAuthClient

extension MobileTokenClient {
    /// Creates a service for an activation's operations. Make one per activation, and share it.
    ///
    /// - Parameters:
    ///   - activation: One of this client's activations.
    ///   - configuration: By default, the client's language and clock.
    public func makeOperationsService(
        for activation: Activation,
        configuration: OperationsService.Configuration? = nil
    ) -> OperationsService {
        OperationsService(activation: activation, configuration: configuration)
    }
}
