import Foundation
import PowerAuthCrypto
import StoreTesting
import Testing

@testable import DecisionReceipts
@testable import PowerAuthClient

/// Limits as values: windows, charges, and their sums.
@Suite struct ChargeTests {
    private static func date(_ text: String) throws -> Date {
        try Date(text, strategy: .iso8601)
    }

    // MARK: Windows

    @Test func aRollingWindowHoldsAMinuteUntilAllOfItHasLeft() throws {
        let window = LimitWindow.rolling(minutes: 60)
        let minute = try Self.date("2026-07-02T12:34:00Z").minute
        #expect(window.first(at: try Self.date("2026-07-02T13:34:00Z")) == minute)
        #expect(window.first(at: try Self.date("2026-07-02T13:34:59Z")) == minute)
        #expect(window.first(at: try Self.date("2026-07-02T13:35:00Z")) == minute + 1)
    }

    /// Days with 23 and 25 hours, one that begins at 1 in the morning, and an offset that is no whole hour.
    @Test(
        arguments: [
            ("Europe/Prague", "2026-03-29T21:59:59Z", "2026-03-28T23:00:00Z"),
            ("Europe/Prague", "2026-03-29T22:00:00Z", "2026-03-29T22:00:00Z"),
            ("Europe/Prague", "2026-10-25T22:59:59Z", "2026-10-24T22:00:00Z"),
            ("Europe/Prague", "2026-10-25T23:00:00Z", "2026-10-25T23:00:00Z"),
            ("Africa/Cairo", "2026-04-24T12:00:00Z", "2026-04-23T22:00:00Z"),
            ("Asia/Kathmandu", "2026-07-02T18:14:59Z", "2026-07-01T18:15:00Z"),
            ("Asia/Kathmandu", "2026-07-02T18:15:00Z", "2026-07-02T18:15:00Z"),
        ]
    ) func aDayIsThatOfItsZone(zone: String, now: String, start: String) throws {
        let window = LimitWindow.day(in: try #require(TimeZone(identifier: zone)))
        #expect(window.first(at: try Self.date(now)) == (try Self.date(start).minute))
    }

    @Test func datesBeyondAnyDecisionTrapNothing() {
        for date in [
            Date.distantPast, .distantFuture, Date(timeIntervalSince1970: .infinity), .init(timeIntervalSince1970: -1),
        ] {
            let charges = LimitCharges([ActivationStoreConformance.demand(.max, .max)], at: date, isAutomatic: true)
            var sums = ChargeSums()
            for _ in 0..<3 { sums.charge(charges.entries) }
            #expect(LimitCharges.entries(stored: charges.stored) == charges.entries)
            #expect(sums.limit(passedBy: charges) == "limit")
        }
    }

    /// Windows follow the server's time where it is known.
    @Test(arguments: [nil, 7_200]) func aDecisionIsChargedAtTheServersTime(ahead: TimeInterval?) {
        let date = ActivationStoreConformance.limitDate
        var intent = ActivationStoreConformance.intent(byHand: "a")
        intent.demands = [ActivationStoreConformance.demand(1)]
        let charges = intent.dated(date, serverDate: ahead.map { date + $0 }).charges
        #expect(charges?.minute == (date + (ahead ?? 0)).minute)
    }

    /// Decisions that a closure refuses do not close the limits anew.
    @Test func aClosureIsDatedOnce() async throws {
        let store = ActivationStore.inMemory()
        try await store.closeLimits()
        for minute in [7, 9] as [Int64] { try await store.dateClosure(minute) }
        #expect(try await store.limitUse([]).closure == 7)
    }

    // MARK: The stored form

    @Test func unitsAreShownWithoutFinalZeros() {
        for (units, text) in [
            (0, "0"), (10_000, "1"), (15_000, "1.5"), (1, "0.0001"), (-12_340, "-1.234"), (1_000_000, "100"),
            (Int64.max, "922337203685477.5807"), (.min, "-922337203685477.5808"),
        ] {
            #expect("\(LimitDemand.number(ofUnits: units))" == text)
            #expect(LimitDemand.number(ofUnits: units) == Decimal(units) / Decimal(LimitDemand.scale))
        }
    }

    @Test func theStoredFormIsReadAsItWasWritten() {
        let demands = [
            ActivationStoreConformance.demand(1, 1, key: "a"), ActivationStoreConformance.demand(1, .max, key: "b"),
        ]
        for isAutomatic in [false, true] {
            let charges = LimitCharges(demands, at: ActivationStoreConformance.limitDate, isAutomatic: isAutomatic)
            #expect(charges.stored.utf8.count == 2 * LimitCharges.width)
            #expect(LimitCharges.entries(stored: charges.stored) == charges.entries)
        }
        for text in ["", "x", String(repeating: "x", count: 81), String(repeating: "x", count: 82)] {
            #expect(LimitCharges.entries(stored: text).isEmpty)
        }
    }

    // MARK: Sums

    /// The sums agree with a list of all charges, whatever the clock does.
    @Test(arguments: 0..<200) func sumsAgreeWithAListOfCharges(round: Int) {
        var random = SystemRandomNumberGenerator()
        var sums = ChargeSums()
        var charges: [(entry: LimitCharges.Entry, minute: Int64, isReleased: Bool)] = []
        var now: Int64 = 30_000_000
        for _ in 0..<120 {
            now += Int64.random(in: -3...8, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0 where !charges.isEmpty:
                let index = Int.random(in: charges.indices, using: &random)
                // A charge of a clock set back may be taken back from too early a minute, which only counts more.
                guard charges[index].minute == charges[index].entry.minute else { continue }
                sums.release([charges[index].entry], isUndone: charges[index].isReleased)
                charges[index].isReleased.toggle()
            default:
                let entry = LimitCharges.Entry(
                    key: ["a", "b"].randomElement(using: &random) ?? "a",
                    minute: now,
                    agents: .random(in: 0...5, using: &random),
                    people: .random(in: 0...5, using: &random)
                )
                let last = charges.filter { $0.entry.key == entry.key }.map(\.minute).max() ?? 0
                sums.charge([entry])
                charges.append((entry, max(last, now), false))
            }
            for key in ["a", "b"] {
                for includesPeople in [false, true] {
                    let first = now - .random(in: 0...40, using: &random)
                    let held = charges.filter { $0.entry.key == key && $0.minute >= first && !$0.isReleased }
                    let expected = held.map { $0.entry.agents + (includesPeople ? $0.entry.people : 0) }.reduce(0, +)
                    #expect(sums.used(key: key, since: first, includesPeople: includesPeople) == expected)
                }
            }
        }
    }

    /// A sum is kept until a later one is old as well, so that the difference stays right.
    @Test func oldSumsAreForgotten() {
        var sums = ChargeSums()
        for minute in stride(from: Int64(0), through: 100_000, by: 1_000) {
            sums.charge([.init(key: "a", minute: minute, agents: 1, people: 0)])
        }
        #expect(sums.count == 48)
        #expect(sums.used(key: "a", since: 100_000 - LimitWindow.longest, includesPeople: false) == 45)
    }

    // MARK: Faults

    private static let key = SecureRandom.secret(Sealing.keyByteCount)

    /// Whatever is lost, late or refused: what is charged is what was decided, and never more than is allowed.
    @Test(arguments: [ScriptedDriver.Call.swap, .append], ScriptedDriver.Fault.allCases)
    func aFaultAtAnyPointChargesWhatWasDecided(call: ScriptedDriver.Call, fault: ScriptedDriver.Fault) async throws {
        for position in 0..<6 {
            let driver = ScriptedDriver()
            func open() -> ActivationStore {
                ActivationStore(driver, name: "memory", keys: SealingKeys(current: .closure { Self.key }))
            }
            var store = open()
            try await store.insert(ActivationStoreConformance.sparseRecord("a"))
            for round in 0..<8 {
                if round == position { driver.next(call, fault) }
                // The process ends after the fault, and what it knew with it.
                if round == position + 1 { store = open() }
                let demand = ActivationStoreConformance.demand(4)
                guard let move = try? await ActivationStoreConformance.decide("a", [demand], in: store) else {
                    continue
                }
                let isRefused = round.isMultiple(of: 3)
                let result = isRefused ? DecisionOutcome.Result.refused(code: "x", serverCode: "y") : .accepted
                try? await store.record(ActivationStoreConformance.outcome(result), ofMove: move, of: "a")
            }
            let receipts = try await open().receipts(of: nil, after: 0, limit: 99)
            let counted = receipts.count { $0.outcome?.result.decidedNothing != true }
            let check = LimitCharges(
                [ActivationStoreConformance.demand(4)],
                at: ActivationStoreConformance.limitDate,
                isAutomatic: true
            ).checks
            let used = try await open().limitUse(check).used
            #expect(used == [Int64(counted)])
            #expect(counted <= 4 && counted >= 3)
        }
    }
}
