import DecisionReceipts

#if Logging
    import Basics
    public import Logging
    public import MobileTokenObserving

    /// Writes the SDK's events to a logger.
    ///
    /// Events that repeat have the level `trace`, `debug` or `info`. `warning` and `error` are for a changed state that may need a
    /// person. Metadata keys begin with `mobile_token.`; the values hold no secret. The logger's `metadataProvider` adds those of
    /// a call, because events are logged in the task that does the work.
    public struct LogObserver: MobileTokenObserver {
        private let logger: Logger

        /// Creates an observer that writes to `logger`.
        public init(logger: Logger) { self.logger = logger }

        private func log(
            _ level: Logger.Level,
            _ message: Logger.Message,
            _ metadata: @autoclosure () -> [String: String?],
            function: String = #function,
            line: UInt = #line
        ) {
            self.logger.log(
                level: level,
                message,
                metadata: Logger.Metadata(
                    uniqueKeysWithValues: metadata().compactMap { name, value in
                        value.map { ("mobile_token.\(name)", .string($0)) }
                    }
                ),
                source: "MobileToken",
                function: function,
                line: line
            )
        }

        // MARK: Requests and signatures

        /// Logs the end of a request: at `info` without success.
        public func requestFinished(
            _ request: MobileTokenObservation.Request,
            with result: MobileTokenObservation.Request.Result
        ) {
            self.log(
                result.outcome == .succeeded || result.outcome == .canceled ? .debug : .info,
                "request ended",
                [
                    "request": "\(request.id)", "activation": request.activationID, "path": request.path,
                    "outcome": result.outcome.description, "status": result.httpStatus.map { "\($0)" },
                    "error": result.error?.description, "milliseconds": result.duration.inMilliseconds,
                ]
            )
        }

        /// Logs a repeated request.
        public func requestRetried(_ retry: MobileTokenObservation.Retry) {
            self.log(
                .debug,
                "request repeated",
                ["activation": retry.activationID, "path": retry.path, "reason": retry.reason.rawValue]
            )
        }

        /// Logs a signature that waits.
        public func signingWaits(_ wait: MobileTokenObservation.Wait) {
            self.log(
                .info,
                "signature waits for an earlier decision",
                ["activation": wait.activationID, "milliseconds": wait.limit.inMilliseconds]
            )
        }

        /// Logs the distance of the counters: at `error` if nothing can be signed any more.
        public func counterCompared(_ comparison: CounterComparison, of activationID: String) {
            self.log(
                comparison.canSign ? .debug : .error,
                "counters compared",
                [
                    "activation": activationID, "distance": "\(comparison.distance)",
                    "window": "\(comparison.window)", "canSign": "\(comparison.canSign)",
                ]
            )
        }

        // MARK: Decisions

        /// Logs the result of a decision.
        public func decisionEnded(_ decision: MobileTokenObservation.Decision) {
            self.log(
                .info,
                "decision ended",
                [
                    "activation": decision.activationID, "operation": decision.operationID,
                    "verdict": decision.verdict.rawValue, "result": decision.result.description,
                    "factors": decision.factors, "policy": decision.policyName,
                ]
            )
        }

        /// Logs a receipt: at `error` if its outcome could not be written.
        public func receiptWritten(_ receipt: MobileTokenObservation.Receipt) {
            self.log(
                receipt.kind == .outcomeNotWritten ? .error : .debug,
                "receipt",
                [
                    "activation": receipt.activationID, "kind": receipt.kind.description,
                    "result": receipt.result?.description, "error": receipt.error?.description,
                ]
            )
        }

        // MARK: Polling, fleets and agents

        /// Logs a poll.
        public func pollStarted(_ poll: MobileTokenObservation.Poll) {
            self.log(
                .trace,
                "poll started",
                ["activation": poll.activationID, "milliseconds": poll.lag.inMilliseconds]
            )
        }

        /// Logs an interval that was too short.
        public func pollIntervalRaised(activationID: String, requested: Duration, used: Duration) {
            self.log(
                .warning,
                "poll interval raised",
                ["activation": activationID, "requested": "\(requested)", "used": "\(used)"]
            )
        }

        /// Logs the numbers of a changed list.
        public func operationListChanged(_ list: MobileTokenObservation.OperationList) {
            self.log(
                .debug,
                "operations changed",
                [
                    "activation": list.activationID, "count": "\(list.count)", "added": "\(list.added)",
                    "updated": "\(list.updated)", "removed": "\(list.removed)",
                ]
            )
        }

        /// Logs the state of an activation: at `error` if it has ended, at `warning` if it waits.
        public func activationStateChanged(_ state: MobileTokenObservation.ActivationState) {
            self.log(
                state.isEnded ? .error : state.reason == nil ? .info : .warning,
                "activation changed",
                ["activation": state.activationID, "phase": state.phase, "reason": state.reason?.description]
            )
        }

        /// Logs the progress of the start.
        public func fleetOpened(_ count: Int, of total: Int) {
            self.log(.debug, "activations opened", ["count": "\(count)", "total": "\(total)"])
        }

        /// Logs an agent's event: at `error` if the agent stopped, or a decision's outcome stays unknown.
        public func agentReported(_ report: MobileTokenObservation.Agent) {
            self.log(
                report.kind == "stopped" || report.kind == "unknown" ? .error : .info,
                "agent",
                [
                    "activation": report.activationID, "operation": report.operationID,
                    "name": report.operationName, "kind": report.kind, "reason": report.reason,
                    "detail": report.detail.isEmpty ? nil : report.detail,
                ]
            )
        }
    }

    extension Duration {
        fileprivate var inMilliseconds: String { String(Int64(self.bounded / .milliseconds(1))) }
    }
#endif
