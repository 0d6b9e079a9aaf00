package import MobileTokenApprovals
import PowerAuth
import Synchronization

/// A ledger in front of another one, which does something at a place that a test names: loses an acknowledgement, fails, takes its time.
package final class StoppingLedger: LedgerDriver {
    package enum Place: Sendable, Equatable {
        case beforeClaim, afterClaim
        /// Before the write, after it, or in its place: nothing is written then.
        case before(ApprovalState), after(ApprovalState), instead(ApprovalState)
    }

    package struct Lost: Error {
        package init() {}
    }

    private let driver: any LedgerDriver
    private let state = Mutex<(place: Place?, action: @Sendable () async throws -> Void)>((nil, {}))

    package init(_ driver: any LedgerDriver) { self.driver = driver }

    package func set(_ place: Place?, _ action: @escaping @Sendable () async throws -> Void = { throw Lost() }) {
        self.state.withLock { $0 = (place, action) }
    }

    private func pass(_ place: Place) async throws {
        let action = self.state.withLock { $0.place == place ? $0.action : nil }
        try await action?()
    }

    package func open(audience: [UInt8]) async throws -> LedgerFacts { try await self.driver.open(audience: audience) }
    package func setKey(check: [UInt8]) async throws -> LedgerFacts { try await self.driver.setKey(check: check) }
    package func adopt(audience: [UInt8]) async throws { try await self.driver.adopt(audience: audience) }
    package func load(_ key: LedgerKey) async throws -> LedgerRow? { try await self.driver.load(key) }

    package func insert(_ row: LedgerRow, asking: LedgerAsking) async throws -> LedgerInsertion {
        try await self.pass(.before(.drafted))
        let answer = try await self.driver.insert(row, asking: asking)
        try await self.pass(.after(.drafted))
        return answer
    }

    package func swap(_ change: LedgerChange) async throws -> LedgerSwap {
        if change.newState == .claimed { try await self.pass(.beforeClaim) }
        try await self.pass(.before(change.newState))
        try await self.pass(.instead(change.newState))
        let answer = try await self.driver.swap(change)
        try await self.pass(.after(change.newState))
        if change.newState == .claimed { try await self.pass(.afterClaim) }
        return answer
    }

    package func unask(_ people: [[UInt8]], _ key: LedgerKey) async throws { try await self.driver.unask(people, key) }

    package func rows(_ filter: LedgerFilter, after key: LedgerKey?, limit: Int) async throws -> [LedgerRow] {
        try await self.driver.rows(filter, after: key, limit: limit)
    }
    package func hold(_ token: Int64) async throws { try await self.driver.hold(token) }
    package func release(_ token: Int64) async { await self.driver.release(token) }
    package func isHeld(_ token: Int64) async throws -> Bool { try await self.driver.isHeld(token) }
    package func close() async { await self.driver.close() }
}

extension ApprovalLedger {
    package static func testing(_ driver: any LedgerDriver) -> Self {
        let key = SecureRandom.secret(Sealing.keyByteCount)
        return Self(driver: driver, sealing: .closure { key })
    }
}
