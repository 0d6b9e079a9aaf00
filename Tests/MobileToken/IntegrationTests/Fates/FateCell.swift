import MobileTokenEmulator

/// One story of the matrix: a task, the fault that strikes it, what happens next, and how its fate is found out.
struct FateCell: Sendable, Hashable, CustomStringConvertible {
    enum Task: String, CaseIterable {
        case approve, reject, agent, ask, history, password
    }

    enum Fault: String, CaseIterable {
        case held, late, lateAfterCut, repeatedFirst, repeatedSecond, requestLost, answerLost
        case pageBefore, pageAfter, loginPageAfter, behindDown, stripped
    }

    enum Next: String, CaseIterable {
        case nothing, sameOperation, otherOperation, otherDevice, otherVerdict, bankCancels, expiry
    }

    enum Settling: String, CaseIterable {
        case atOnce, byNextDecision, bySettle, byRestart
    }

    /// The moment at which what is held, or late, is carried out.
    enum Release: String, CaseIterable {
        case atOnce, beforeSettling, atLast
    }

    let task: Task
    let fault: Fault
    let next: Next
    let settling: Settling
    var release = Release.atOnce

    var description: String {
        let parts = [self.task.rawValue, self.fault.rawValue, self.next.rawValue, self.settling.rawValue]
        return (self.fault.isPostponing ? parts + ["released " + self.release.rawValue] : parts).joined(
            separator: " / "
        )
    }

    static func all(of task: Task, _ fault: Fault) -> [Self] {
        let releases = fault.isPostponing ? Release.allCases : [.atOnce]
        return Next.allCases.flatMap { next in
            Settling.allCases.flatMap { settling in
                releases.map { Self(task: task, fault: fault, next: next, settling: settling, release: $0) }
            }
        }
    }

    /// Returns one of them, another for each: what follows differs from row to row and from column to column.
    static func sample(of task: Task, _ fault: Fault) -> Self {
        let row = Fault.allCases.firstIndex(of: fault) ?? 0
        let column = Task.allCases.firstIndex(of: task) ?? 0
        let cells = self.all(of: task, fault)
        return cells[(row * 13 + column * 5) % cells.count]
    }
}

extension FateCell.Task {
    /// The request that the fault strikes.
    var path: String {
        switch self {
        case .approve, .agent, .ask: "**/operation/authorize"
        case .reject: "**/operation/cancel"
        case .history: "**/operation/history"
        case .password: "**/signature/validate"
        }
    }
}

extension FateCell.Fault {
    var isPostponing: Bool { [.held, .late, .lateAfterCut].contains(self) }

    /// Indicates that it is there until it is taken away, and not for one request.
    var lasts: Bool { self == .behindDown || self == .stripped }

    private static let long = 3_600.0

    func rules(_ path: String) -> [FaultRule] {
        switch self {
        case .held: [self.rule(path, .init(hold: Self.long))]
        case .late: [self.rule(path, .init(late: Self.long))]
        case .lateAfterCut: [self.rule(path, .init(reset: .before, late: Self.long))]
        case .repeatedFirst: [self.rule(path, .init(repeat: .first))]
        case .repeatedSecond: [self.rule(path, .init(repeat: .second))]
        case .requestLost: [self.rule(path, .init(reset: .before))]
        case .answerLost: [self.rule(path, .init(reset: .after))]
        case .pageBefore: [self.rule(path, .init(page: .init(.before, status: 403)))]
        case .pageAfter: [self.rule(path, .init(page: .init(.after, status: 401)))]
        case .loginPageAfter: [self.rule(path, .init(page: .init(.after, status: 200)))]
        case .behindDown:
            [
                self.rule("/api/**", .init(status: 401, code: "POWERAUTH_AUTH_FAIL")),
                self.rule("/pa/*/keystore/create", .init(status: 400, code: "ERR_TEMPORARY_KEY")),
                self.rule("/pa/*/signature/validate", .init(status: 401, code: "POWERAUTH_AUTH_FAIL")),
                self.rule("/pa/**", .init(status: 400, code: "ERR_ACTIVATION")),
                self.rule("/v2/**", .init(status: 500, code: "ERROR_UNABLE_TO_CALL_UPSTREAM_SERVICE")),
            ]
        case .stripped: [self.rule("/**", .init(strip: "X-PowerAuth-Authorization"))]
        }
    }

    private func rule(_ path: String, _ effect: FaultRule.Effect) -> FaultRule {
        FaultRule(name: FateWorld.faultName, match: .init(path: path, first: self.lasts ? nil : 1), effect: effect)
    }
}
