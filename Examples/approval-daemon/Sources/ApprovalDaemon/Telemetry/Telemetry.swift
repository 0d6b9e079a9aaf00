#if !ServerLibraries
    import MobileToken
    import MobileTokenObserving
    import MobileTokenReceipts

    /// Tells the log and the metrics what the SDK does, where the trait `ServerLibraries` is off.
    ///
    /// Identifiers of activations and operations go into the log, and never into the dimensions of a metric, where each would be a
    /// series of its own.
    struct Telemetry: MobileTokenObserver {
        let logger: JSONLogger
        let metrics: MetricsRegistry

        // MARK: Requests

        /// Counts and times the request, and logs one that failed.
        func requestFinished(
            _ request: MobileTokenObservation.Request,
            with result: MobileTokenObservation.Request.Result
        ) {
            let outcome = result.outcome.description
            self.metrics.count("mobile_token_requests_total", ("path", request.path), ("outcome", outcome))
            self.metrics.time("mobile_token_request_duration_seconds", result.duration, ("path", request.path))
            self.logger.log(
                result.outcome == .succeeded || result.outcome == .canceled ? .debug : .notice,
                "request ended",
                [
                    "request": String(request.id), "activation": request.activationID, "path": request.path,
                    "outcome": outcome, "status": result.httpStatus.map(String.init),
                    "error": result.error?.description, "milliseconds": result.duration.inMilliseconds,
                ]
            )
        }

        /// Counts the retry.
        func requestRetried(_ retry: MobileTokenObservation.Retry) {
            self.metrics.count("mobile_token_requests_retried_total", ("reason", retry.reason.rawValue))
            self.logger.log(
                .debug,
                "request repeated",
                ["activation": retry.activationID, "path": retry.path, "reason": retry.reason.rawValue]
            )
        }

        // MARK: Signatures

        /// Counts the signature, and takes in how far the counter is ahead.
        func signatureMade(_ signature: MobileTokenObservation.Signature) {
            self.metrics.count("mobile_token_signatures_total", ("factors", signature.factors))
            self.metrics.record("mobile_token_counter_distance", Double(signature.counterDistance))
        }

        /// Logs that a signature waits.
        func signingWaits(_ wait: MobileTokenObservation.Wait) {
            self.logger.log(
                .notice,
                "signature waits for an earlier decision",
                ["activation": wait.activationID, "milliseconds": wait.limit.inMilliseconds]
            )
        }

        /// Logs counters that are too far apart to sign any more.
        func counterCompared(_ comparison: CounterComparison, of activationID: String) {
            self.logger.log(
                comparison.canSign ? .debug : .error,
                "counters compared",
                [
                    "activation": activationID, "distance": String(comparison.distance),
                    "window": String(comparison.window), "canSign": String(comparison.canSign),
                ]
            )
        }

        // MARK: Decisions

        /// Counts and logs the decision.
        func decisionEnded(_ decision: MobileTokenObservation.Decision) {
            let (verdict, result) = (decision.verdict.rawValue, decision.result.name)
            self.metrics.count("mobile_token_decisions_total", ("verdict", verdict), ("result", result))
            self.logger.log(
                .info,
                "decision ended",
                [
                    "activation": decision.activationID, "operation": decision.operationID, "verdict": verdict,
                    "result": decision.result.description, "factors": decision.factors, "policy": decision.policyName,
                ]
            )
        }

        /// Counts the receipt, and logs one that could not be written.
        func receiptWritten(_ receipt: MobileTokenObservation.Receipt) {
            self.metrics.count("mobile_token_receipts_total", ("kind", receipt.kind.description))
            self.logger.log(
                receipt.kind == .outcomeNotWritten ? .error : .debug,
                "receipt",
                [
                    "activation": receipt.activationID, "kind": receipt.kind.description,
                    "result": receipt.result?.description, "error": receipt.error?.description,
                ]
            )
        }

        // MARK: Polling

        /// Takes in how late the poll is.
        func pollStarted(_ poll: MobileTokenObservation.Poll) {
            self.metrics.time("mobile_token_poll_lag_seconds", poll.lag)
        }

        /// Logs that the interval is another one than was asked for.
        func pollIntervalRaised(activationID: String, requested: Duration, used: Duration) {
            self.logger.log(
                .warning,
                "poll interval raised",
                ["activation": activationID, "requested": "\(requested)", "used": "\(used)"]
            )
        }

        /// Counts new operations.
        func operationListChanged(_ list: MobileTokenObservation.OperationList) {
            self.metrics.count("mobile_token_operations_listed_total", by: list.added)
        }

        // MARK: Fleets and agents

        /// Logs the new phase of an activation.
        func activationStateChanged(_ state: MobileTokenObservation.ActivationState) {
            self.logger.log(
                state.isEnded ? .error : state.reason == nil ? .info : .warning,
                "activation changed",
                ["activation": state.activationID, "phase": state.phase, "reason": state.reason?.description]
            )
        }

        /// Shows how far the start has come.
        func fleetOpened(_ count: Int, of total: Int) {
            self.metrics.set("mobile_token_activations_opened", Double(count))
            self.metrics.set("mobile_token_activations_assigned", Double(total))
        }

        /// Counts and logs what the agent did, and counts what it left by the reason, which the policy takes from a fixed few.
        func agentReported(_ report: MobileTokenObservation.Agent) {
            self.metrics.count("mobile_token_agent_events_total", ("kind", report.kind))
            if let reason = report.reason {
                self.metrics.count("mobile_token_operations_left_total", ("reason", reason))
            }
            let level: LogLevel =
                switch report.kind {
                case "stopped", "unknown": .error
                case "refused", "unanswered", "retrying": .warning
                default: .info
                }
            self.logger.log(
                level,
                "agent",
                [
                    "activation": report.activationID, "operation": report.operationID, "name": report.operationName,
                    "kind": report.kind, "reason": report.reason, "detail": report.detail.isEmpty ? nil : report.detail,
                ]
            )
        }
    }

    extension Duration {
        fileprivate var inMilliseconds: String { String(Int64(self / .milliseconds(1))) }
    }
#endif
