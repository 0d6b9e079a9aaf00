package import PowerAuth
import PowerAuthCrypto
import PowerAuthProtocol

/// The requirements of a store, which each driver has to meet.
package enum ActivationStoreConformance: String, CaseIterable, Sendable {
    /// A new store has no activations.
    case holdsNothingAtFirst
    /// A record is returned with all values that were inserted, including those that may be missing.
    case returnsWhatWasInserted
    /// Inserting twice fails with `activationAlreadyStored`, and the first record stays.
    case refusesToOverwrite
    /// Identifiers are listed in the order of insertion.
    case listsOldestFirst
    /// A change is stored when `update` returns, with the closure's result.
    case keepsChanges
    /// Changes add and remove tokens and factors.
    case keepsTokensAndFactors
    /// An activation that is upgraded to another version of the protocol keeps nothing of the former one.
    case keepsUpgrades
    /// An upgrade under way is known at once, and only of that activation.
    case tellsUpgrades
    /// A change that throws leaves the record as it was, and its error reaches the caller.
    case dropsChangesThatThrow
    /// Changing an unknown activation fails with `activationNotStored`.
    case refusesToChangeTheUnknown
    /// A removed activation is gone, may be removed again, and others stay.
    case forgetsTheRemoved
    /// An activation may be inserted again after its removal, without anything of the former one.
    case startsAnewAfterRemoval
    /// Concurrent changes follow each other: none is lost.
    case losesNoConcurrentChange
    /// Of concurrent changes, only those that throw are undone.
    case dropsOnlyChangesThatThrow
    /// The signing turn of an activation has one holder at a time.
    case givesOneTurnAtATime
    /// A turn reads and changes its activation.
    case changesWithinTurns
    /// A task that waits for a turn gets it, even if another one takes it again and again.
    case givesTurnsToEveryWaiter
    /// A waiter that is canceled gets `CancellationError`, and does not delay others.
    case forgetsCanceledWaiters
    /// Turns of different activations do not wait for each other.
    case keepsTurnsOfActivationsApart
    /// A turn ends when its body throws, and passes the error on.
    case endsTurnsThatThrow
    /// An unknown activation has no turn.
    case refusesTurnsOfTheUnknown
    /// A handle reads what another one on the same store wrote. Checked for stores that can be opened twice.
    case sharesBetweenHandles
    /// Two handles on one store move one counter, without a value taken twice or skipped. Checked as the one before.
    case losesNoChangeBetweenHandles
    /// A turn through one handle excludes turns through the other. Checked as the one before.
    case givesTurnsAcrossHandles
    /// An upgrade that one handle begins is known to the other when the change has returned. Checked as the one before.
    case tellsUpgradesAcrossHandles
    /// An intent is there with the move of the counter that goes with it. This and the following are checked for stores that are
    /// a `ActivationStore`.
    case writesIntentsWithTheirMove
    /// A change that throws leaves neither a move nor an intent, also when others are made at the same time.
    case dropsIntentsOfChangesThatThrow
    /// A change that does not move the counter leaves no intent.
    case writesNoIntentWithoutMove
    /// An outcome is followed by one that says more, and by no other.
    case keepsTheOutcomeThatSaysMost
    /// Receipts and entries come in pages, oldest first.
    case listsReceiptsOldestFirst
    /// The receipts of a removed activation stay, none of them open, and can still get their outcome.
    case keepsReceiptsOfTheRemoved
    /// Receipts written at the same time have a number each, and none is lost.
    case losesNoConcurrentReceipt
    /// Personal data can be erased by activation and by age; nothing else changes.
    case erasesPersonalData
    /// While deciding is paused, an automatic decision moves no counter and leaves no intent; all else goes on.
    case decidesNothingWhilePaused
    /// Receipts that one handle wrote are read by another one. Checked for stores that can be opened twice.
    case sharesReceiptsBetweenHandles
    /// Two handles number their entries together. Checked as the one before.
    case losesNoReceiptBetweenHandles
    /// A pause that one handle makes or ends holds for the other at once. Checked as the one before.
    case pausesAcrossHandles

    /// Creates an empty store.
    package typealias MakeStore = @Sendable () async throws -> ActivationStore
    /// Opens the store of another handle once more, as a second process would.
    package typealias OpenAgain = @Sendable (ActivationStore) async throws -> ActivationStore

    /// A requirement that a store does not meet.
    package struct Failure: Error, CustomStringConvertible {
        /// The requirement.
        package let requirement: ActivationStoreConformance
        /// The behavior of the store.
        package let explanation: String
        /// The requirement and the behavior of the store.
        package var description: String { "\(self.requirement.rawValue): \(self.explanation)" }
    }

    /// Checks every requirement, one after the other.
    ///
    /// - Parameters:
    ///   - makeStore: Creates an empty store, a new one each time.
    ///   - openAgain: Opens a store a second time; `nil` for a store that lives in one object, which skips the
    ///     requirements that need two.
    /// - Throws: The first ``Failure``, or any other error of the store.
    package static func run(makeStore: MakeStore, openAgain: OpenAgain? = nil) async throws {
        for requirement in self.allCases { try await requirement.check(makeStore: makeStore, openAgain: openAgain) }
    }

    /// Checks this requirement.
    ///
    /// - Parameters:
    ///   - makeStore: Creates an empty store.
    ///   - openAgain: Opens a store a second time; `nil` skips the requirements that need two handles.
    /// - Throws: A ``Failure``, or any other error of the store.
    package func check(makeStore: MakeStore, openAgain: OpenAgain? = nil) async throws {
        let store = try await makeStore()
        switch self {
        case .holdsNothingAtFirst: try await self.checkEmptiness(of: store)
        case .returnsWhatWasInserted: try await self.checkInsertion(into: store)
        case .refusesToOverwrite: try await self.checkSecondInsertion(into: store)
        case .listsOldestFirst: try await self.checkOrder(of: store)
        case .keepsChanges: try await self.checkChanges(of: store)
        case .keepsTokensAndFactors: try await self.checkTokensAndFactors(of: store)
        case .keepsUpgrades: try await self.checkUpgrade(of: store)
        case .tellsUpgrades: try await self.checkUpgrading(in: store, asSeenBy: store)
        case .dropsChangesThatThrow: try await self.checkThrowingChange(of: store)
        case .refusesToChangeTheUnknown: try await self.checkChangeOfUnknown(in: store)
        case .forgetsTheRemoved: try await self.checkRemoval(from: store)
        case .startsAnewAfterRemoval: try await self.checkInsertionAfterRemoval(in: store)
        case .losesNoConcurrentChange: try await self.checkConcurrentChanges(through: [store])
        case .givesOneTurnAtATime: try await self.checkExclusion(through: [store])
        case .dropsOnlyChangesThatThrow: try await self.checkConcurrentFailures(in: store)
        case .changesWithinTurns: try await self.checkChangesWithinTurn(in: store)
        case .givesTurnsToEveryWaiter: try await self.checkStarvation(in: store)
        case .forgetsCanceledWaiters: try await self.checkCancellation(of: store)
        case .keepsTurnsOfActivationsApart: try await self.checkIndependence(of: store)
        case .endsTurnsThatThrow: try await self.checkThrowingTurn(of: store)
        case .refusesTurnsOfTheUnknown: try await self.checkTurnOfUnknown(in: store)
        case .sharesBetweenHandles:
            guard let openAgain else { return }
            try await self.checkSharing(between: store, and: openAgain(store))
        case .losesNoChangeBetweenHandles:
            guard let openAgain else { return }
            try await self.checkConcurrentChanges(through: [store, openAgain(store)])
        case .givesTurnsAcrossHandles:
            guard let openAgain else { return }
            try await self.checkExclusion(through: [store, openAgain(store)])
        case .tellsUpgradesAcrossHandles:
            guard let openAgain else { return }
            try await self.checkUpgrading(in: store, asSeenBy: openAgain(store))
        case .writesIntentsWithTheirMove: try await self.checkIntents(in: store)
        case .dropsIntentsOfChangesThatThrow: try await self.checkIntentsOfThrowingChanges(in: store)
        case .writesNoIntentWithoutMove: try await self.checkIntentsWithoutMove(in: store)
        case .keepsTheOutcomeThatSaysMost: try await self.checkOutcomes(in: store)
        case .listsReceiptsOldestFirst: try await self.checkReceiptOrder(of: store)
        case .keepsReceiptsOfTheRemoved: try await self.checkReceiptsOfTheRemoved(in: store)
        case .losesNoConcurrentReceipt: try await self.checkConcurrentReceipts(through: [store])
        case .erasesPersonalData: try await self.checkErasure(in: store)
        case .decidesNothingWhilePaused: try await self.checkPause(of: store)
        case .pausesAcrossHandles:
            guard let openAgain else { return }
            try await self.checkPause(of: store, asSeenBy: openAgain(store))
        case .sharesReceiptsBetweenHandles:
            guard let openAgain else { return }
            try await self.checkSharingOfReceipts(between: store, and: openAgain(store))
        case .losesNoReceiptBetweenHandles:
            guard let openAgain else { return }
            try await self.checkConcurrentReceipts(through: [store, openAgain(store)])
        }
    }
}

extension ActivationStoreConformance {
    func require(_ condition: Bool, _ explanation: String) throws {
        guard condition else { throw Failure(requirement: self, explanation: explanation) }
    }

    func requireError(_ code: MobileTokenError.Code, of body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as MobileTokenError where error.code == code {
            return
        } catch {
            throw Failure(requirement: self, explanation: "expected the error \(code), got \(error)")
        }
        throw Failure(requirement: self, explanation: "expected the error \(code), got none")
    }
}
