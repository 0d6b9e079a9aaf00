import Testing

@testable import MobileTokenPostgres

/// The choice of the rows that are read.
struct ListCursorTests {
    private var cursor = ListCursor()

    private static func place(_ slot: Int64, version: Int64 = 1, by transaction: Int64) -> ListPlace {
        ListPlace(slot: slot, version: version, transaction: transaction)
    }

    private static func horizon(oldest: Int64, next: Int64, epoch: Int64 = 1, begun: Int64 = 0) -> ListHorizon {
        ListHorizon(oldest: oldest, next: next, epoch: .init(number: epoch, begun: begun))
    }

    @Test mutating func aReadingBeginsAtTheOldestTransactionOfTheLastOne() {
        let now = Self.horizon(oldest: 50, next: 60)
        let step = self.cursor.apply([Self.place(1, by: 40), Self.place(2, by: 55)], at: now, isFull: false)
        #expect(step == .finish)
        #expect(self.cursor.start == .init(transaction: 50, slot: 0))
        // Only what may be read again is remembered.
        #expect(self.cursor.seen == [Self.place(2, by: 55)])
    }

    @Test mutating func aTransactionThatCommitsLateIsFoundWhereItBegan() {
        _ = self.cursor.apply([Self.place(1, by: 70)], at: Self.horizon(oldest: 50, next: 71), isFull: false)
        // The transaction 50 commits now, and lies at the start of the next reading.
        #expect(self.cursor.start.transaction <= 50)
        let late = Self.place(2, by: 50)
        _ = self.cursor.apply([late], at: Self.horizon(oldest: 72, next: 72), isFull: false)
        #expect(self.cursor.start.transaction == 72)
        #expect(self.cursor.seen.isEmpty)
    }

    @Test mutating func pagesFollowOneAnotherAndTheFirstHorizonCounts() {
        let first = Self.horizon(oldest: 50, next: 60)
        #expect(self.cursor.apply([Self.place(1, by: 40), Self.place(2, by: 40)], at: first, isFull: true) == .readOn)
        #expect(self.cursor.start == .init(transaction: 40, slot: 3))
        // Rows that were written behind the place of the reading since then are found by the next one.
        let later = Self.horizon(oldest: 90, next: 95)
        #expect(self.cursor.apply([Self.place(3, by: 45)], at: later, isFull: false) == .finish)
        #expect(self.cursor.start == .init(transaction: 50, slot: 0))
    }

    /// The second one has the number of an epoch that was lost.
    @Test(arguments: [(2, 0), (1, 7)] as [(Int64, Int64)])
    mutating func anotherEpochIsReadFromTheBeginning(number: Int64, begun: Int64) {
        _ = self.cursor.apply([Self.place(1, by: 55)], at: Self.horizon(oldest: 50, next: 60), isFull: false)
        let other = Self.horizon(oldest: 80, next: 80, epoch: number, begun: begun)
        #expect(self.cursor.apply([Self.place(2, by: 70)], at: other, isFull: false) == .startOver)
        #expect(self.cursor == ListCursor())
        #expect(self.cursor.apply([Self.place(1, by: 40)], at: other, isFull: false) == .finish)
    }

    @Test mutating func transactionsThatWentBackAreAnotherDatabase() {
        _ = self.cursor.apply([], at: Self.horizon(oldest: 50, next: 60), isFull: false)
        #expect(self.cursor.apply([], at: Self.horizon(oldest: 30, next: 30), isFull: false) == .startOver)
    }

    /// A list that a reading from the beginning does not find counts as gone, and its node may write it just before.
    @Test mutating func whatIsWrittenBeforeAllIsReadIsRead() {
        self.cursor.passOver(written: [Self.place(1, by: 40)])
        #expect(self.cursor.seen.isEmpty)
        _ = self.cursor.apply([Self.place(1, by: 40)], at: Self.horizon(oldest: 30, next: 50), isFull: false)
        self.cursor.passOver(written: [Self.place(1, version: 2, by: 50)])
        #expect(self.cursor.seen == [Self.place(1, version: 2, by: 50)])
    }

    @Test mutating func theNewerVersionOfAnActivationIsRemembered() {
        _ = self.cursor.apply([], at: Self.horizon(oldest: 50, next: 50), isFull: false)
        self.cursor.passOver(written: [Self.place(1, version: 7, by: 60)])
        self.cursor.passOver(written: [Self.place(1, version: 6, by: 59)])
        #expect(self.cursor.seen == [Self.place(1, version: 7, by: 60)])
    }
}

struct TransactionAgeTests {
    private var age = TransactionAge()

    private mutating func record(_ oldest: Int64, _ next: Int64, at seconds: Int) -> Duration {
        self.age.record(
            ListHorizon(oldest: oldest, next: next, epoch: .init(number: 1, begun: 0)),
            at: .seconds(seconds)
        )
    }

    @Test mutating func theAgeGrowsWhileTheOldestTransactionStays() {
        #expect(self.record(10, 10, at: 0) == .zero)
        #expect(self.record(10, 12, at: 5) == .zero)  // first seen
        #expect(self.record(10, 40, at: 65) == .seconds(60))
        // The next one that is still under way began after the first reading and before the second.
        #expect(self.record(30, 50, at: 70) == .seconds(5))
        #expect(self.record(50, 50, at: 71) == .zero)
    }

    @Test mutating func yearsOfReadingsTakeLittleRoom() {
        for second in 0..<5_000 { _ = self.record(10, Int64(20 + second), at: second) }
        #expect(self.record(10, 6_000, at: 5_000) == .seconds(5_000))
        #expect(
            Mirror(reflecting: self.age).children.first.flatMap { $0.value as? [(Int64, Duration)] }?.count ?? 0
                <= 1_024
        )
    }
}
