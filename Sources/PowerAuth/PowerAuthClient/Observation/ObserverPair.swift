#if Logging || Metrics
    public import MobileTokenObserving

    extension MobileTokenObserver {
        /// Returns an observer that tells this one and then another one of each event.
        public func and(_ other: any MobileTokenObserver) -> any MobileTokenObserver {
            ObserverPair(first: self, second: other)
        }
    }

    struct ObserverPair: MobileTokenObserver {
        let first: any MobileTokenObserver
        let second: any MobileTokenObserver

        private func each(_ body: (any MobileTokenObserver) -> Void) {
            body(self.first)
            body(self.second)
        }

        func requestStarted(_ request: MobileTokenObservation.Request) { self.each { $0.requestStarted(request) } }
        func requestFinished(
            _ request: MobileTokenObservation.Request,
            with result: MobileTokenObservation.Request.Result
        ) {
            self.each { $0.requestFinished(request, with: result) }
        }
        func requestRetried(_ retry: MobileTokenObservation.Retry) { self.each { $0.requestRetried(retry) } }
        func signatureMade(_ signature: MobileTokenObservation.Signature) { self.each { $0.signatureMade(signature) } }
        func signingWaits(_ wait: MobileTokenObservation.Wait) { self.each { $0.signingWaits(wait) } }
        func counterCompared(_ comparison: CounterComparison, of activationID: String) {
            self.each { $0.counterCompared(comparison, of: activationID) }
        }
        func decisionEnded(_ decision: MobileTokenObservation.Decision) { self.each { $0.decisionEnded(decision) } }
        func receiptWritten(_ receipt: MobileTokenObservation.Receipt) { self.each { $0.receiptWritten(receipt) } }
        func pollStarted(_ poll: MobileTokenObservation.Poll) { self.each { $0.pollStarted(poll) } }
        func pollIntervalRaised(activationID: String, requested: Duration, used: Duration) {
            self.each { $0.pollIntervalRaised(activationID: activationID, requested: requested, used: used) }
        }
        func operationListChanged(_ list: MobileTokenObservation.OperationList) {
            self.each { $0.operationListChanged(list) }
        }
        func activationStateChanged(_ state: MobileTokenObservation.ActivationState) {
            self.each { $0.activationStateChanged(state) }
        }
        func fleetOpened(_ count: Int, of total: Int) { self.each { $0.fleetOpened(count, of: total) } }
        func agentReported(_ report: MobileTokenObservation.Agent) { self.each { $0.agentReported(report) } }
    }
#endif
