#if ServiceLifecycle
    public import ServiceLifecycle

    // `run()` of each ends in order at a graceful shutdown.
    extension ApprovalAgent: Service {}
    extension OperationsFleet: Service {}
    extension OperationsService: Service {}
#endif
