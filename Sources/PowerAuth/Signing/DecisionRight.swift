/// The right to decide for an activation, of work that only the process which polls the activation may do.
///
/// A structure: optimized, Swift 6.3 crashes where a task-local value is a function.
package struct DecisionRight: Sendable {
    /// The right of the current task; `nil` for decisions by hand, which any process may make.
    @TaskLocal package static var current: DecisionRight?

    private let check: @Sendable () throws -> Void

    /// - Parameter check: Throws unless the process has the right still, under the lease that it has at this moment.
    package init(check: @escaping @Sendable () throws -> Void) { self.check = check }

    /// Checks that a decision may still be signed.
    ///
    /// Called within the turn to sign. A process that stood still may have lost its lease since it looked, and taken another one for
    /// this turn: another process decides by now, and has read which decisions are open. A right that is held now is held under the
    /// present lease. If the turn is of an earlier one, the store refuses the change.
    static func check() throws { try Self.current?.check() }
}
