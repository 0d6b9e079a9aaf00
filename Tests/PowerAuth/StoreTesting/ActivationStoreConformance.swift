package import PowerAuthClient

/// The requirements that each store driver has to meet.
package enum ActivationStoreConformance: String, CaseIterable, Sendable {
    /// A new store has no activations.
    case holdsNothingAtFirst
    /// A record is returned with all inserted values, including optional ones.
    case returnsWhatWasInserted
    /// Inserting twice fails with `activationAlreadyStored`, and the first record stays.
    case refusesToOverwrite
    /// Identifiers are listed in the order of insertion.
    case listsOldestFirst
    /// A change is stored when `update` returns, with the closure's result.
    case keepsChanges
    /// Changes add and remove tokens and factors.
    case keepsTokensAndFactors
    /// An upgraded activation keeps nothing of its former version.
    case keepsUpgrades
    /// An upgrade in progress is known at once, and only for that activation.
    case tellsUpgrades
    /// A throwing change leaves the record unchanged, and its error reaches the caller.
    case dropsChangesThatThrow
    /// Changing an unknown activation fails with `activationNotStored`.
    case refusesToChangeTheUnknown
    /// A removed activation is gone, may be removed again, and others stay.
    case forgetsTheRemoved
    /// An activation may be inserted again after its removal, without any former values.
    case startsAnewAfterRemoval
    /// Concurrent changes are serialized: none is lost.
    case losesNoConcurrentChange
    /// Of concurrent changes, only throwing ones are undone.
    case dropsOnlyChangesThatThrow
    /// The signing turn of an activation has one holder at a time.
    case givesOneTurnAtATime
    /// A turn reads and changes its activation.
    case changesWithinTurns
    /// A task that waits for a turn gets it, even if another one takes it repeatedly.
    case givesTurnsToEveryWaiter
    /// A canceled waiter gets `CancellationError`, and does not delay others.
    case forgetsCanceledWaiters
    /// Turns of different activations do not wait for each other.
    case keepsTurnsOfActivationsApart
    /// A turn ends when its body throws, and passes the error on.
    case endsTurnsThatThrow
    /// An unknown activation has no turn.
    case refusesTurnsOfTheUnknown
    /// A handle reads the writes of another one on the same store. Checked for stores that can be opened twice.
    case sharesBetweenHandles
    /// Two handles on one store move one counter, without repeated or skipped values. Checked as the one before.
    case losesNoChangeBetweenHandles
    /// A turn through one handle excludes turns through the other. Checked as the one before.
    case givesTurnsAcrossHandles
    /// An upgrade begun by one handle is known to the other when the change has returned. Checked as the one before.
    case tellsUpgradesAcrossHandles
    /// An intent is stored with its counter step. This and the following are checked for stores that are an `ActivationStore`.
    case writesIntentsWithTheirMove
    /// A throwing change leaves neither a step nor an intent, even with concurrent changes.
    case dropsIntentsOfChangesThatThrow
    /// A change without a counter step leaves no intent.
    case writesNoIntentWithoutMove
    /// An outcome is replaced only by a more definite one.
    case keepsTheOutcomeThatSaysMost
    /// Receipts and entries come in pages, oldest first.
    case listsReceiptsOldestFirst
    /// The receipts of a removed activation stay, none of them open, and can still get their outcome.
    case keepsReceiptsOfTheRemoved
    /// Concurrent receipts get unique numbers, and none is lost.
    case losesNoConcurrentReceipt
    /// Personal data can be erased by activation and by age; nothing else changes.
    case erasesPersonalData
    /// Entries are counted from the last one that an export has noted.
    case countsWhatWasNotExported
    /// While deciding is paused, an automatic decision moves no counter and leaves no intent; all else continues.
    case decidesNothingWhilePaused
    /// A handle reads the receipts of another one. Checked for stores that can be opened twice.
    case sharesReceiptsBetweenHandles
    /// Two handles number their entries together. Checked as the one before.
    case losesNoReceiptBetweenHandles
    /// An intent that a restore took is written again with its outcome; an open one says that evidence is lost. Checked as the one
    /// before.
    case restoresLostIntents
    /// A pause set or ended by one handle applies to the other at once. Checked as the one before.
    case pausesAcrossHandles
    /// A decision that would pass a limit moves no counter and leaves no intent, and what came to nothing is not counted.
    case holdsLimits
    /// Handles with different limits count each other's decisions. Checked as the pause.
    case holdsLimitsAcrossHandles

    package typealias MakeStore = @Sendable () async throws -> ActivationStore
    /// Opens the store of another handle again, as a second process would.
    package typealias OpenAgain = @Sendable (ActivationStore) async throws -> ActivationStore

    /// A requirement that a store does not meet.
    package struct Failure: Error, CustomStringConvertible {
        package let requirement: ActivationStoreConformance
        package let explanation: String
        package var description: String { "\(self.requirement.rawValue): \(self.explanation)" }
    }

    /// Checks this requirement.
    ///
    /// - Parameters:
    ///   - makeStore: Creates an empty store.
    ///   - openAgain: Opens a store a second time; `nil` skips the requirements for two handles.
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
        case .countsWhatWasNotExported: try await self.checkFigures(of: store)
        case .decidesNothingWhilePaused: try await self.checkPause(of: store)
        case .pausesAcrossHandles:
            guard let openAgain else { return }
            try await self.checkPause(of: store, asSeenBy: openAgain(store))
        case .restoresLostIntents:
            guard let openAgain else { return }
            try await self.checkLostIntents(of: store, deletedBy: openAgain(store))
        case .holdsLimits: try await self.checkLimits(of: store)
        case .holdsLimitsAcrossHandles:
            guard let openAgain else { return }
            try await self.checkLimits(of: store, asSeenBy: openAgain(store))
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
