public import Foundation
import PowerAuth
import Synchronization

extension ApprovalAgent {
    /// The use of a limit at this moment.
    public struct LimitUse: Sendable, Hashable {
        /// The limit's name.
        public let limit: String
        /// The currency of the amounts; `nil` if approvals are counted.
        public let currency: String?
        /// The content of its window.
        public let used: Decimal
        /// The room of its window.
        public let allowed: Decimal
        /// Indicates that nothing is approved until the window has passed, because the store was restored within it, and charges
        /// may be missing.
        public let isClosed: Bool
    }

    /// Returns the use of the limits that an activation shares, in their order.
    ///
    /// The limits of payees and templates are not among them, since their use depends on an operation.
    ///
    /// - Throws: `MobileTokenError`, such as `unknownActivation`, or the error of reading the store.
    public nonisolated func limitUse(of activationID: String) async throws -> [LimitUse] {
        let service = try await self.fleet.service(of: activationID)
        guard let rules = self.fleet.limitRules.withLock({ $0 }), let store = service.channel.evidence?.source.store
        else {
            return []
        }
        let checks = rules.checks(of: activationID, at: service.channel.serverDate)
        let reading = try await MobileTokenError.mapStoreErrors { try await store.limitUse(checks) }
        return zip(checks, reading.used).map { check, used in
            LimitUse(
                limit: check.demand.limit,
                currency: check.demand.currency,
                used: LimitDemand.number(ofUnits: used),
                allowed: LimitDemand.number(ofUnits: check.demand.allowed),
                isClosed: reading.closure.map { $0 >= check.first } ?? false
            )
        }
    }
}
