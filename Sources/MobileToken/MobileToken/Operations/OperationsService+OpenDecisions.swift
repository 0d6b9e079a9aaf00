package import PowerAuth

extension OperationsService {
    /// Traces manual decisions with lost responses, and records their outcomes in the receipts. The next signature would hide
    /// them.
    ///
    /// An outcome that cannot be determined now does not prevent other decisions, and is traced again later.
    func resolveOpenDecisions() async {
        guard self.mayHaveOpenDecisions, let evidence = self.channel.evidence?.source else { return }
        self.mayHaveOpenDecisions = false
        guard let open = try? await evidence.openDecisions() else { return self.mayHaveOpenDecisions = true }
        for decision in open where !decision.intent.isAutomatic {
            // A result that only a history can show is not requested again.
            guard let fate = try? await self.look(at: decision), !fate.isOpen || fate.needsVerdict && !fate.needsFence
            else {
                self.mayHaveOpenDecisions = true
                continue
            }
        }
    }

    /// Determines the outcome of a decision, and records it in the receipts.
    ///
    /// - Parameter isFencing: `true` to invalidate, with a signature, a decision that may still be carried out.
    @discardableResult
    package func look(at decision: OpenDecision, fencing isFencing: Bool = false) async throws -> DecisionFate {
        var trace = try DecisionTrace(decision, self)
        try await trace.ask()
        if isFencing, trace.fate.needsFence { try await trace.fence() }
        try await trace.record()
        return trace.fate
    }

    /// Determines the outcome of a manual decision with a lost response, by one status request and one look at the operation.
    ///
    /// - Returns: The result, if the decision was carried out.
    /// - Throws: The error for how the operation ended otherwise, or ``MobileTokenError/Code/outcomeUnknown``.
    func ending(
        of decision: OpenDecision,
        after cause: MobileTokenError,
        with authentication: Activation.Authentication
    ) async throws -> DecisionOutcome.Result {
        var (fate, end) = (DecisionFate(decision), MobileTokenError?.none)
        if var trace = try? DecisionTrace(decision, self, after: cause) {
            if trace.fate.needsFence { try? await trace.askForStatus() }
            // At most servers the detail lacks the decision. A history needs a signature, which hides counter evidence not
            // followed yet.
            let isJudged = trace.fate.result == .followed || trace.fate.needsVerdict && !trace.fate.needsFence
            if isJudged, authentication.hasTwoFactors {
                try? await trace.record()
                try? await trace.askHistory(with: authentication)
            } else {
                try? await trace.askForOperation()
            }
            try? await trace.record()
            (fate, end) = (trace.fate, trace.end)
        }
        switch (fate.result, end) {
        case (.inferred?, _): return .inferred
        case (.accepted?, _): return .accepted
        case (.notFollowed?, let end?), (.refused?, let end?): throw end.of(cause.decision)
        case (.refused?, nil): throw cause
        default:
            // The server refused, because the operation is over, but does not say who decided it.
            let (verdict, code) = (decision.intent.verdict, cause.isServersRefusal ? cause.serverCode : nil)
            throw code.flatMap { DecisionFate.Operation(serverCode: $0, of: verdict) } != nil
                ? cause.over(fate.hasEndedAsDecided ? verdict : nil) : MobileTokenError.outcomeUnknown(cause)
        }
    }
}

extension MobileTokenError {
    /// The manual decision to investigate further: unanswered, or refused because the operation is over.
    var undecided: OpenDecision? {
        self.unansweredDecision ?? (self.decision?.result == .unknown ? self.decision?.decision : nil)
    }

    /// The error of a decision that was sent and may have been carried out.
    fileprivate static func outcomeUnknown(_ cause: Self) -> Self {
        var error = Self(
            .outcomeUnknown,
            "The decision may have been carried out: \(cause.message). Look at the operation before it is decided again",
            httpStatus: cause.httpStatus,
            retryAfter: cause.retryAfter,
            underlying: cause
        )
        error.decision = cause.decision
        return error
    }

    /// Returns the server's error that an operation is over, with the known part of its end.
    ///
    /// - Parameter verdict: The verdict with which it ended; `nil` if unknown.
    fileprivate func over(_ verdict: DecisionIntent.Verdict?) -> Self {
        let message =
            switch verdict {
            case .approve?: "It is over: approved; by whom is not known"
            case .reject?: "It is over: rejected; by whom is not known"
            case nil: "It is over; how, and by whom, is not known"
            }
        var error = Self(self.code, message, httpStatus: self.httpStatus, serverCode: self.serverCode)
        (error.effect, error.decision) = (self.effect, self.decision)
        return error
    }

    fileprivate func of(_ decision: SignedDecision?) -> Self {
        var error = self
        error.decision = decision
        return error
    }
}

extension Activation.Authentication {
    /// Indicates whether the factors suffice for a history.
    var hasTwoFactors: Bool { self.knowledge != nil || self.biometryKey != nil }
}

extension OperationsService {
    /// The evidence of the activation's decisions.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` if the activation is a test's, or wrapped, and provides none.
    nonisolated var evidence: any DecisionEvidenceSource {
        get throws(MobileTokenError) {
            if let evidence = self.channel.evidence { return evidence.source }
            throw MobileTokenError(
                .invalidConfiguration,
                """
                The activation gives no `evidence`, which an agent decides by: its status, the fate of its signatures and the \
                journal of its store. A type that wraps an `Activation` returns that activation's
                """
            )
        }
    }
}
