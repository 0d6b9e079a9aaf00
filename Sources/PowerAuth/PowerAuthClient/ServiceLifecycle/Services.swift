#if ServiceLifecycle
    public import ServiceLifecycle

    extension MobileTokenClient: Service {}

    extension ActivationStore: Service {
        /// Opens the store, waits for the graceful shutdown or the cancellation of its task, and closes it. A process that
        /// shares a PostgreSQL database hands back its rights to sign.
        ///
        /// In a `ServiceGroup` put it before everything that uses it: services end in the reverse order.
        public func run() async throws {
            try await self.open()
            try? await gracefulShutdown()  // throws only if the task is canceled
            await self.close()
        }
    }
#endif
