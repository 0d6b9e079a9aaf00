import Basics
import Foundation
import MobileToken
import Testing

/// The lists that are written, and the changes that are news.
struct SharedListsTests {
    private var lists = SharedLists()
    private var lastVersion: Int64 = 0

    private static func listing(_ id: String, _ operations: [String]) -> FleetListing {
        FleetListing(
            activationID: id,
            operations: operations.map {
                UserOperation(id: $0, name: "login", data: "A2", created: Date(timeIntervalSince1970: 0))
            },
            serverDate: Date(timeIntervalSince1970: 0)
        )
    }

    private mutating func take() -> [FleetListing] { self.lists.takePending(10) }

    private mutating func read(_ listing: FleetListing) -> Bool {
        self.lastVersion += 1
        return self.lists.read(listing, version: self.lastVersion)
    }

    private mutating func wrote(_ listings: [FleetListing], accepted: Set<ExactString>) -> [FleetListing] {
        self.lastVersion += 1
        return self.lists.wrote(listings, accepted: Dictionary(accepted.map { ($0, self.lastVersion) }) { $1 })
    }

    @Test mutating func nothingIsWrittenBeforeAllWasRead() {
        #expect(self.lists.recordPoll(Self.listing("1", ["a"])) == false)
        #expect(self.take() == [])
        #expect(self.lists.finishedReading().hasPending == true)
        #expect(self.take() == [Self.listing("1", ["a"])])
    }

    @Test mutating func whatTheDatabaseHoldsIsNotWrittenAgain() {
        _ = self.read(Self.listing("1", ["a"]))
        _ = self.lists.finishedReading()
        #expect(self.lists.recordPoll(Self.listing("1", ["a"])) == false)
        #expect(self.lists.recordPoll(Self.listing("2", [])) == false)
        #expect(self.lists.recordPoll(Self.listing("1", [])) == true)
        let taken = self.take()
        #expect(self.lists.recordPoll(Self.listing("1", [])) == false)  // on its way
        #expect(self.wrote(taken, accepted: ["1"]) == [Self.listing("1", [])])
        #expect(self.lists.recordPoll(Self.listing("1", [])) == false)
        #expect(self.take() == [])
    }

    /// The reading may see a commit before the writing knows of it.
    @Test mutating func whatIsBeingWrittenIsNoNews() {
        _ = self.lists.finishedReading()
        _ = self.lists.recordPoll(Self.listing("1", ["a"]))
        let taken = self.take()
        #expect(self.read(Self.listing("1", ["a"])) == false)
        #expect(self.wrote(taken, accepted: ["1"]) == [Self.listing("1", ["a"])])
        #expect(self.read(Self.listing("1", ["b"])) == true)
    }

    @Test mutating func whatComesAndGoesBeforeItIsWrittenIsNotWritten() {
        _ = self.lists.finishedReading()
        #expect(self.lists.recordPoll(Self.listing("1", ["a"])) == true)
        _ = self.lists.recordPoll(Self.listing("1", []))
        #expect(self.take() == [])
    }

    /// The reading may have passed over it before the fate was unknown.
    @Test mutating func aListOfUnknownFateIsTakenBackWhenItIsEmptyByNow() {
        _ = self.lists.finishedReading()
        _ = self.lists.recordPoll(Self.listing("1", ["a"]))
        let written = self.take()
        #expect(self.read(Self.listing("1", ["a"])) == false)
        self.lists.recordFailure(written)
        #expect(self.lists.recordPoll(Self.listing("1", [])) == true)
        #expect(self.take() == [Self.listing("1", [])])
    }

    @Test mutating func aListOfUnknownFateIsWrittenAgainUnlessThereIsANewerOne() {
        _ = self.lists.finishedReading()
        for id in ["1", "2"] { _ = self.lists.recordPoll(Self.listing(id, ["a"])) }
        let taken = self.take()
        _ = self.lists.recordPoll(Self.listing("2", ["a", "b"]))
        self.lists.recordFailure(taken)
        let again = self.take().sorted { $0.activationID < $1.activationID }
        #expect(again == [Self.listing("1", ["a"]), Self.listing("2", ["a", "b"])])
    }

    @Test mutating func whatWasRefusedIsNotTakenForWritten() {
        _ = self.lists.finishedReading()
        _ = self.lists.recordPoll(Self.listing("1", ["a"]))
        #expect(self.wrote(self.take(), accepted: []) == [Self.listing("1", [])])
        #expect(self.lists.last("1")?.operations == [])
        #expect(self.lists.recordPoll(Self.listing("1", ["a"])) == true)
    }

    /// Its process shows it, and what it reads of the process that polls now may be no news.
    @Test mutating func whatWasRefusedGivesWayToTheListThatIsShared() {
        _ = self.read(Self.listing("1", ["b"]))
        _ = self.lists.finishedReading()
        _ = self.lists.recordPoll(Self.listing("1", ["a"]))
        let refused = self.take()
        #expect(self.wrote(refused, accepted: []) == [Self.listing("1", ["b"])])
    }

    /// A process shows what it polled until it lets go of the activation, and the empty list of the next one would be no news to it.
    @Test mutating func whereNothingIsSharedTheListIsEmpty() {
        #expect(self.lists.last("1") == nil)  // not known yet
        _ = self.lists.finishedReading()
        _ = self.lists.recordPoll(Self.listing("1", ["a"]))
        #expect(self.lists.last("1") == nil)  // it waits to be written
        let refused = self.take()
        #expect(self.lists.last("1") == nil)
        _ = self.wrote(refused, accepted: [])
        #expect(self.lists.last("1")?.operations == [])
        #expect(self.read(Self.listing("1", [])) == false)
    }

    /// A process that lets go of an activation goes on showing what it polled last, which others are about to see.
    @Test mutating func whatWaitsToBeWrittenIsNewerThanWhatIsShared() {
        _ = self.read(Self.listing("1", ["a"]))
        _ = self.lists.finishedReading()
        _ = self.lists.recordPoll(Self.listing("1", []))
        #expect(self.lists.last("1") == nil)
        let written = self.take()
        #expect(self.lists.last("1") == nil)
        _ = self.wrote(written, accepted: ["1"])
        #expect(self.lists.last("1") == Self.listing("1", []))
    }

    /// The process stood still before it knew that its list was written, has let go of the activation, and read the next list already.
    @Test mutating func whatAnotherProcessHasWrittenSinceStands() {
        _ = self.lists.finishedReading()
        _ = self.lists.recordPoll(Self.listing("1", ["a"]))
        let written = self.take()
        #expect(self.lists.read(Self.listing("1", []), version: 6) == false)
        #expect(self.lists.wrote(written, accepted: ["1": 5]) == [Self.listing("1", [])])
        #expect(self.lists.last("1") == Self.listing("1", []))
    }

    /// Nor does an older list count that is read late.
    @Test mutating func whatWasWrittenBeforeIsNoNews() {
        _ = self.lists.finishedReading()
        _ = self.lists.recordPoll(Self.listing("1", ["a"]))
        _ = self.lists.wrote(self.take(), accepted: ["1": 6])
        #expect(self.lists.read(Self.listing("1", ["b"]), version: 5) == false)
        #expect(self.lists.last("1") == Self.listing("1", ["a"]))
    }

    @Test mutating func whoBeginsAnewFindsNewsAndLosesNothing() {
        _ = self.read(Self.listing("1", ["a"]))
        _ = self.lists.finishedReading()
        for id in ["2", "3"] { _ = self.lists.recordPoll(Self.listing(id, ["a"])) }
        _ = self.lists.takePending(1)
        self.lists.begin()
        #expect(self.take() == [])
        #expect(self.read(Self.listing("1", ["a"])) == true)
        _ = self.lists.finishedReading()
        #expect(self.take().map(\.activationID).sorted() == ["2", "3"])
    }

    @Test mutating func onlyWhatIsDifferentIsNews() {
        #expect(self.read(Self.listing("1", ["a"])) == true)
        #expect(self.read(Self.listing("1", ["a"])) == false)
        #expect(self.read(Self.listing("1", [])) == true)
        #expect(self.read(Self.listing("2", [])) == false)
    }

    @Test mutating func whatADatabaseThatWentBackLacksIsGone() {
        for id in ["1", "2"] { _ = self.read(Self.listing(id, ["a"])) }
        _ = self.lists.finishedReading()
        self.lists.startOver()
        #expect(self.read(Self.listing("2", ["a"])) == false)
        #expect(self.lists.finishedReading().gone == [Self.listing("1", [])])
        #expect(self.lists.last("1")?.operations == [])
        // Should it be this node's, the next poll writes it again.
        #expect(self.lists.recordPoll(Self.listing("1", ["a"])) == true)
    }

    /// The database went back between the write and the reading, and nobody noticed.
    @Test mutating func whatIsReadFromTheBeginningCountsWhateverWasWrittenMeanwhile() {
        for id in ["1", "2"] { _ = self.read(Self.listing(id, [])) }
        let old = self.lastVersion
        _ = self.lists.finishedReading()
        self.lists.startOver()
        for id in ["1", "3"] { _ = self.lists.recordPoll(Self.listing(id, ["a"])) }
        _ = self.wrote(self.take(), accepted: ["1", "3"])
        #expect(self.lists.read(Self.listing("1", []), version: old) == true)
        #expect(self.lists.read(Self.listing("2", []), version: old) == false)
        #expect(self.lists.finishedReading().gone == [Self.listing("3", [])])
        #expect(self.lists.last("1") == Self.listing("1", []))
        #expect(self.lists.recordPoll(Self.listing("1", ["a"])) == true)
    }
}
