import DecisionReceipts

#if Metrics
    public import Metrics
    public import MobileTokenObserving
    import Synchronization

    /// Measures the SDK's events with a metrics factory.
    ///
    /// Labels come from small sets. Paths of endpoints of one's own and reasons of policies are not: after the first hundred
    /// values of a label, all others are `other`. No label holds an identifier.
    public struct MetricsObserver: MobileTokenObserver {
        private let factory: any MetricsFactory
        private let paths = SeenValues()
        private let reasons = SeenValues()

        /// Creates an observer that measures with `factory`.
        public init(factory: any MetricsFactory = MetricsSystem.factory) { self.factory = factory }

        private func count(_ name: String, _ labels: (String, String)..., by amount: Int = 1) {
            Counter(label: name, dimensions: labels, factory: self.factory).increment(by: amount)
        }

        private func time(_ name: String, _ duration: Duration, _ labels: (String, String)...) {
            Timer(label: name, dimensions: labels, factory: self.factory).record(duration: duration)
        }

        /// Counts a request by path and outcome, and times it by path.
        public func requestFinished(
            _ request: MobileTokenObservation.Request,
            with result: MobileTokenObservation.Request.Result
        ) {
            let path = self.paths.bounded(request.path)
            self.count("mobile_token_requests_total", ("path", path), ("outcome", result.outcome.description))
            self.time("mobile_token_request_duration_seconds", result.duration, ("path", path))
        }

        /// Counts a repeated request by reason.
        public func requestRetried(_ retry: MobileTokenObservation.Retry) {
            self.count("mobile_token_requests_retried_total", ("reason", retry.reason.rawValue))
        }

        /// Counts a signature by factors, and measures the distance of its counter.
        public func signatureMade(_ signature: MobileTokenObservation.Signature) {
            self.count("mobile_token_signatures_total", ("factors", signature.factors))
            Recorder(label: "mobile_token_counter_distance", factory: self.factory).record(signature.counterDistance)
        }

        /// Counts a decision by verdict and result.
        public func decisionEnded(_ decision: MobileTokenObservation.Decision) {
            self.count(
                "mobile_token_decisions_total",
                ("verdict", decision.verdict.rawValue),
                ("result", decision.result.name)
            )
        }

        /// Counts a receipt by kind.
        public func receiptWritten(_ receipt: MobileTokenObservation.Receipt) {
            self.count("mobile_token_receipts_total", ("kind", receipt.kind.description))
        }

        /// Measures how late a poll is.
        public func pollStarted(_ poll: MobileTokenObservation.Poll) {
            self.time("mobile_token_poll_lag_seconds", poll.lag)
        }

        /// Counts new operations.
        public func operationListChanged(_ list: MobileTokenObservation.OperationList) {
            self.count("mobile_token_operations_listed_total", by: list.added)
        }

        /// Measures the progress of the start.
        public func fleetOpened(_ count: Int, of total: Int) {
            Gauge(label: "mobile_token_activations_opened", factory: self.factory).record(count)
            Gauge(label: "mobile_token_activations_assigned", factory: self.factory).record(total)
        }

        /// Counts an agent's event by kind, and a left operation by reason.
        public func agentReported(_ report: MobileTokenObservation.Agent) {
            self.count("mobile_token_agent_events_total", ("kind", report.kind))
            guard let reason = report.reason else { return }
            self.count("mobile_token_operations_left_total", ("reason", self.reasons.bounded(reason)))
        }
    }

    /// The values that a label had so far, at most a hundred.
    private final class SeenValues: Sendable {
        private let values = Mutex<Set<String>>([])

        /// Returns the value, or `other` if there are too many.
        func bounded(_ value: String) -> String {
            self.values.withLock { values in
                if values.count < 100 { values.insert(value) }
                return values.contains(value) ? value : "other"
            }
        }
    }
#endif
