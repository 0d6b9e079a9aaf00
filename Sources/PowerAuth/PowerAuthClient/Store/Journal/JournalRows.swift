package import DecisionReceipts

/// A driver's facts about an open store.
package struct StoreFacts: Sendable {
    package struct Key: Sendable, Equatable {
        package let number: Int64
        package let check: [UInt8]

        package init(number: Int64, check: [UInt8]) {
            self.number = number
            self.check = check
        }
    }

    /// The keys in use.
    package var keys: [Key]
    /// The marks, kept outside the database; `nil` if the store cannot be restored.
    package var marks: HighWaterMarks?
    /// Indicates that other processes may change the store.
    package var isShared: Bool
    /// Indicates that appended outcomes may be lost while this process runs, for example when a server restarts.
    package var mayLoseOutcomes: Bool
    /// The time for which a call with an unknown outcome is repeated.
    package var patience: Duration

    package init(
        keys: [Key],
        marks: HighWaterMarks? = nil,
        isShared: Bool = false,
        mayLoseOutcomes: Bool = false,
        patience: Duration = .zero
    ) {
        self.keys = keys
        self.marks = marks
        self.isShared = isShared
        self.mayLoseOutcomes = mayLoseOutcomes
        self.patience = patience
    }
}

/// An activation, loaded by one statement.
package struct LoadedRow: Sendable, Equatable {
    /// The number of the row, in the tables and among the marks.
    package var slot: Int64
    package var tag: WriteTag
    /// The lease of the node that may sign; `nil` if there is none or the driver needs none.
    package var holder: Int64?
    /// The number of the sealing key.
    package var key: Int64
    package var sealed: SealedActivation
    /// The format that other processes expect.
    package var format: RecordFormat
    package var pause: DecisionPause?
    /// The store's epoch when the row was read.
    package var epoch: Int64
    /// The last epoch in which the counter was known not to be restored.
    package var comparedEpoch: Int64
    /// Indicates that charges to limits are missing, which were there before the store was restored.
    package var lacksCharges = false

    package init(
        slot: Int64,
        tag: WriteTag,
        holder: Int64? = nil,
        key: Int64,
        sealed: SealedActivation,
        format: RecordFormat,
        pause: DecisionPause? = nil,
        epoch: Int64 = 0,
        comparedEpoch: Int64 = 0
    ) {
        self.slot = slot
        self.tag = tag
        self.holder = holder
        self.key = key
        self.sealed = sealed
        self.format = format
        self.pause = pause
        self.epoch = epoch
        self.comparedEpoch = comparedEpoch
    }

    /// Indicates that the counter may have been restored since its last comparison with the server's.
    var wasPutBack: Bool { self.comparedEpoch != self.epoch }

    /// Returns the change that reseals all fields with another key; it needs no signing turn.
    package func resealed(from former: Sealing, to sealing: Sealing, key: Int64) throws -> RowChange {
        let resealed = try former.reseal(self.sealed, with: sealing)
        return RowChange(
            activationID: self.sealed.activationID,
            slot: self.slot,
            tag: self.tag,
            fence: nil,
            epoch: self.epoch,
            newTag: .random(),
            comparedEpoch: self.comparedEpoch,
            fields: SealedActivation.Changes(written: resealed.fields, removed: []),
            key: key,
            format: nil,
            intent: nil,
            charges: nil,
            heedsPause: false
        )
    }

    func applying(_ change: RowChange) -> Self {
        var row = self
        row.tag = change.newTag
        row.key = change.key
        row.sealed = self.sealed.applying(change.fields)
        row.format = change.format ?? self.format
        row.comparedEpoch = change.comparedEpoch
        return row
    }
}

package struct NewRow: Sendable {
    package let sealed: SealedActivation
    package let tag: WriteTag
    package let key: Int64
    package let format: RecordFormat

    package init(sealed: SealedActivation, tag: WriteTag, key: Int64, format: RecordFormat) {
        self.sealed = sealed
        self.tag = tag
        self.key = key
        self.format = format
    }
}

/// A change of an activation, written atomically.
package struct RowChange: Sendable {
    package let activationID: String
    /// The required slot, tag, lease and epoch of the row.
    package let slot: Int64
    package let tag: WriteTag
    package let fence: Int64?
    package let epoch: Int64
    package let newTag: WriteTag
    package let comparedEpoch: Int64
    package let fields: SealedActivation.Changes
    /// The number of the key that sealed fields and intent.
    package let key: Int64
    /// The row's new format, which every living process must be able to read; `nil` if unchanged.
    package let format: RecordFormat?
    /// The decision that the counter move is about to make. ``newTag`` identifies it too.
    package let intent: SealedReceipt?
    /// The decision's charges to limits: if one would be passed, nothing is written.
    package let charges: LimitCharges?
    /// Indicates that a pause stops the change.
    package let heedsPause: Bool
}

/// The result of a swap. Only ``written`` wrote anything.
package enum SwapAnswer: Sendable, Equatable {
    /// The change was written, now or by an earlier attempt with the same tag.
    case written
    /// The row has changed since it was loaded.
    case otherTag
    case gone
    case fenceLost
    /// The store was restored since the row was loaded.
    case otherEpoch
    /// These nodes cannot read the new format.
    case olderNodes([String])
    case paused(DecisionPause)
    /// The decision would pass the limit with this name.
    case limited(String)
}

package enum InsertAnswer: Sendable, Equatable {
    case written(slot: Int64)
    case held
    /// The key is not the store's current one.
    case otherKey
}

package enum RowFilter: Sendable {
    case all
    /// Activations with an upgrade in progress.
    case upgrading
}

package struct Turn: Sendable {
    package let slot: Int64
    /// The lease of changes; `nil` if a lock suffices.
    package var fence: Int64?
    /// Returns the current end of the right unless it is renewed; `nil` if only its holder ends it.
    package var notAfter: @Sendable () -> ContinuousClock.Instant? = { nil }

    package init(
        slot: Int64,
        fence: Int64? = nil,
        notAfter: @escaping @Sendable () -> ContinuousClock.Instant? = { nil }
    ) {
        self.slot = slot
        self.fence = fence
        self.notAfter = notAfter
    }
}
