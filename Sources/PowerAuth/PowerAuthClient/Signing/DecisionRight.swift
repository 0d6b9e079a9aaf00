/// The right to decide for an activation automatically, held by the process that polls it. A struct, because Swift 6.3 crashes in
/// optimized code if a task-local value is a function.
package struct DecisionRight: Sendable {
    /// The right of the current task; `nil` for manual decisions, which any process may make.
    @TaskLocal package static var current: DecisionRight?

    private let check: @Sendable () throws -> Void
    private let waits: @Sendable (Duration) async -> Void

    /// - Parameters:
    ///   - check: Throws unless the process still has the right, under its present lease.
    ///   - waits: Called with the longest wait when the signature begins to wait for an earlier decision.
    package init(
        check: @escaping @Sendable () throws -> Void,
        waits: @escaping @Sendable (Duration) async -> Void
    ) {
        (self.check, self.waits) = (check, waits)
    }

    /// Checks that a decision may still be signed. Called within the signing turn. A suspended process may have lost its lease
    /// and taken a new one for this turn, while another process read the open decisions and now decides. A right held now belongs
    /// to the present lease. If the turn belongs to an earlier one, the store refuses the change.
    static func check() throws { try Self.current?.check() }

    /// Reports to the owner of the right that the signature waits.
    static func waits(_ limit: Duration) async { await Self.current?.waits(limit) }
}
