#if ServiceLifecycle
    public import ServiceLifecycle

    extension ApprovalDesk: Service {}
#endif
