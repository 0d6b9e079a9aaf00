import Basics
import ExactJSON
import PowerAuthClient

extension ApprovalAgent {
    /// The verdicts that a policy would have given.
    ///
    /// ```swift
    /// let history = try await operations.history(authenticatedBy: .possessionAndKnowledge(password: password))
    /// let dryRun = await agent.dryRun(over: history.operations, of: activation.activationID)
    /// print(dryRun.table)
    /// ```
    public struct DryRun: Sendable {
        /// An operation and the policy's verdict on it.
        public struct Line: Sendable {
            /// The operation and its doubts.
            public let review: OperationReview
            /// The policy's verdict; ``Verdict/deferToPeople`` if it was not asked, or threw.
            public let verdict: Verdict
            /// The reason for leaving the operation; `nil` if it would be decided.
            public let leaveReason: LeaveReason?
        }

        /// The operations in order.
        public let lines: [Line]
    }

    /// Asks the policy about operations, such as those of the history, without deciding them.
    ///
    /// The policy does not see incomplete operations unless the configuration says so, as in a real run. Its deadline and the
    /// operations' ``UserOperation/status`` are ignored. Limits count the run's own approvals, in the order of creation.
    public nonisolated func dryRun(over operations: [UserOperation], of activationID: String) async -> DryRun {
        var lines: [DryRun.Line] = []
        for operation in operations {
            lines.append(await self.line(of: OperationReview(of: operation, activationID: activationID)))
        }
        let rules = LimitRules(self.configuration.limits, userID: self.configuration.userID)
        var sums = ChargeSums()
        // Lists begin with the newest.
        let dates = lines.map(\.review.operation.created)
        for index in lines.indices.sorted(by: { (dates[$0], $1) < (dates[$1], $0) }) {
            guard lines[index].verdict == .approve, let limit = rules.limit(passedBy: lines[index].review, &sums) else {
                continue
            }
            lines[index] = .init(
                review: lines[index].review,
                verdict: .deferToPeople(reason: limit),
                leaveReason: .limitReached(limit)
            )
        }
        return DryRun(lines: lines)
    }

    @concurrent
    private nonisolated func line(of review: OperationReview) async -> DryRun.Line {
        guard review.isComplete || self.configuration.reviewsIncomplete else {
            return DryRun.Line(review: review, verdict: .deferToPeople, leaveReason: .incomplete(review.doubts))
        }
        do {
            let verdict = try await self.policy(review)
            let leaveReason: LeaveReason? =
                if case .deferToPeople(let reason) = verdict { .policy(reason) } else { nil }
            return DryRun.Line(review: review, verdict: verdict, leaveReason: leaveReason)
        } catch {
            return DryRun.Line(review: review, verdict: .deferToPeople, leaveReason: .policyFailed(error))
        }
    }
}

extension ApprovalAgent.DryRun {
    /// The lines as a table for people.
    public var table: String {
        let rows = [["OPERATION", "NAME", "STATUS", "VERDICT", "WHY"]] + self.lines.map(\.cells)
        let widths = (0..<4).map { column in rows.map { $0[column].unicodeScalars.count }.max() ?? 0 }
        return rows.map { row in
            let cells = zip(row, widths).map { cell, width in
                cell + String(repeating: " ", count: max(0, width - cell.unicodeScalars.count))
            }
            return Self.withoutTrailingBlanks((cells + [row[4]]).joined(separator: "  ")) + "\n"
        }.joined()
    }

    private static func withoutTrailingBlanks(_ line: String) -> String {
        String(decoding: line.utf8.reversed().drop { $0 == UInt8(ascii: " ") }.reversed(), as: UTF8.self)
    }

    /// The lines as a JSON array of objects with `activationId`, `operationId`, `name`, `status`, `isComplete`, `doubts`,
    /// `verdict`, and optionally `reason`.
    public var json: String {
        String(decoding: JSONValue.array(self.lines.map(\.json)).serialized(), as: UTF8.self)
    }
}

extension ApprovalAgent.DryRun.Line {
    /// The verdict without its reason, which has its own column.
    private var verdictName: String { self.leaveReason == nil ? self.verdict.description : "leave" }

    fileprivate var cells: [String] {
        let operation = self.review.operation
        return [operation.id, operation.name, operation.status.rawValue].map { DisplayText.escaped($0, limit: 64) }
            + [self.verdictName, self.leaveReason?.description ?? ""]
    }

    fileprivate var json: JSONValue {
        let operation = self.review.operation
        var members: JSONObject = [
            "activationId": .string(self.review.activationID), "operationId": .string(operation.id),
            "name": .string(operation.name), "status": .string(operation.status.rawValue),
            "isComplete": .bool(self.review.isComplete),
            "doubts": .array(self.review.doubts.map { .string($0.description) }),
            "verdict": .string(self.verdictName),
        ]
        members["reason"] = (self.leaveReason?.description).map { .string($0) }
        return .object(members)
    }
}
