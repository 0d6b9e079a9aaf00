import Basics
import Foundation
import MobileToken
import Testing

/// What is written, and what is news.
struct SharedListsTests {
    private var lists = SharedLists()

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

    @Test mutating func nothingIsWrittenBeforeAllWasRead() {
        #expect(self.lists.recordPoll(Self.listing("1", ["a"])) == false)
        #expect(self.take() == [])
        #expect(self.lists.finishedReading().hasPending == true)
        #expect(self.take() == [Self.listing("1", ["a"])])
    }

    @Test mutating func whatTheDatabaseHoldsIsNotWrittenAgain() {
        _ = self.lists.read(Self.listing("1", ["a"]))
        _ = self.lists.finishedReading()
        #expect(self.lists.recordPoll(Self.listing("1", ["a"])) == false)
        #expect(self.lists.recordPoll(Self.listing("2", [])) == false)
        #expect(self.lists.recordPoll(Self.listing("1", [])) == true)
        let taken = self.take()
        #expect(self.lists.recordPoll(Self.listing("1", [])) == false)  // on its way
        #expect(self.lists.wrote(taken, accepted: ["1"]) == [])
        #expect(self.lists.recordPoll(Self.listing("1", [])) == false)
        #expect(self.take() == [])
    }

    /// The reading may see a commit before the writing knows of it.
    @Test mutating func whatIsBeingWrittenIsNoNews() {
        _ = self.lists.finishedReading()
        _ = self.lists.recordPoll(Self.listing("1", ["a"]))
        let taken = self.take()
        #expect(self.lists.read(Self.listing("1", ["a"])) == false)
        #expect(self.lists.wrote(taken, accepted: ["1"]) == [])
        #expect(self.lists.read(Self.listing("1", ["b"])) == true)
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
        #expect(self.lists.read(Self.listing("1", ["a"])) == false)
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
        #expect(self.lists.wrote(self.take(), accepted: []) == [Self.listing("1", [])])
        #expect(self.lists.last("1") == nil)
        #expect(self.lists.recordPoll(Self.listing("1", ["a"])) == true)
    }

    /// Its process shows it, and what it reads of the process that polls now may be no news.
    @Test mutating func whatWasRefusedGivesWayToTheListThatIsShared() {
        _ = self.lists.read(Self.listing("1", ["b"]))
        _ = self.lists.finishedReading()
        _ = self.lists.recordPoll(Self.listing("1", ["a"]))
        let refused = self.take()
        #expect(self.lists.wrote(refused, accepted: []) == [Self.listing("1", ["b"])])
    }

    @Test mutating func whoBeginsAnewFindsNewsAndLosesNothing() {
        _ = self.lists.read(Self.listing("1", ["a"]))
        _ = self.lists.finishedReading()
        for id in ["2", "3"] { _ = self.lists.recordPoll(Self.listing(id, ["a"])) }
        _ = self.lists.takePending(1)
        self.lists.begin()
        #expect(self.take() == [])
        #expect(self.lists.read(Self.listing("1", ["a"])) == true)
        _ = self.lists.finishedReading()
        #expect(self.take().map(\.activationID).sorted() == ["2", "3"])
    }

    @Test mutating func onlyWhatIsDifferentIsNews() {
        #expect(self.lists.read(Self.listing("1", ["a"])) == true)
        #expect(self.lists.read(Self.listing("1", ["a"])) == false)
        #expect(self.lists.read(Self.listing("1", [])) == true)
        #expect(self.lists.read(Self.listing("2", [])) == false)
    }

    @Test mutating func whatADatabaseThatWentBackLacksIsGone() {
        for id in ["1", "2"] { _ = self.lists.read(Self.listing(id, ["a"])) }
        _ = self.lists.finishedReading()
        self.lists.startOver()
        #expect(self.lists.read(Self.listing("2", ["a"])) == false)
        #expect(self.lists.finishedReading().gone == [Self.listing("1", [])])
        #expect(self.lists.last("1") == nil)
        // Should it be this node's, the next poll writes it again.
        #expect(self.lists.recordPoll(Self.listing("1", ["a"])) == true)
    }
}
