/// The facts that a driver tells of an open store.
package struct StoreFacts: Sendable {
    /// A sealing key: its number, and what it is recognized by.
    package struct Key: Sendable, Equatable {
        package let number: Int64
        package let check: [UInt8]

        package init(number: Int64, check: [UInt8]) {
            self.number = number
            self.check = check
        }
    }

    /// The keys that anything may be sealed with.
    package var keys: [Key]
    /// The marks, which are kept outside of the database; `nil` where a store cannot be put back.
    package var marks: HighWaterMarks?
    /// Indicates that other processes may change the store.
    package var isShared: Bool
    /// Indicates that what was appended may be lost while this process goes on, as when a server ends and is started again.
    package var mayLoseOutcomes: Bool
    /// The time for which a call is repeated whose outcome is unknown.
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

/// Eight random bytes that name a state of a row: new with every write, and never a count, which would come back with a backup.
package struct WriteTag: RawRepresentable, Sendable, Hashable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static func random() -> Self { Self(rawValue: .random(in: .min ... .max)) }
}

/// An activation as one statement found it.
package struct LoadedRow: Sendable, Equatable {
    /// The number that stands for it, in the tables and among the marks.
    package var slot: Int64
    /// The tag of the latest write.
    package var tag: WriteTag
    /// The lease of the node that may sign; `nil` when there is none, or turns need no such lease.
    package var holder: Int64?
    /// The number of the key that its fields are sealed with.
    package var key: Int64
    package var sealed: SealedActivation
    /// The form that other processes take it for.
    package var format: RecordFormat
    package var pause: DecisionPause?
    /// The epoch of the store in which this was read.
    package var epoch: Int64
    /// The epoch in which the counter was last known not to have been put back.
    package var comparedEpoch: Int64

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

    /// Indicates that the counter may have been put back since it was last compared with the server's.
    var wasPutBack: Bool { self.comparedEpoch != self.epoch }

    /// Returns the change that seals all fields with another key, which needs no right to sign.
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
            heedsPause: false
        )
    }

    /// Returns the row as a change leaves it.
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

/// An activation to be added.
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

/// A change of an activation, to be written all or nothing.
package struct RowChange: Sendable {
    package let activationID: String
    /// The slot, the tag, the lease and the epoch that the row must still have.
    package let slot: Int64
    package let tag: WriteTag
    package let fence: Int64?
    package let epoch: Int64
    package let newTag: WriteTag
    package let comparedEpoch: Int64
    package let fields: SealedActivation.Changes
    /// The number of the key that fields and intent are sealed with.
    package let key: Int64
    /// The form that the row gets, which every living process must read; `nil` when it stays.
    package let format: RecordFormat?
    /// The decision that the move of the counter is about to make. It is known by ``newTag`` too.
    package let intent: SealedReceipt?
    /// Lets a pause keep it from being written.
    package let heedsPause: Bool
}

/// The end of a swap. Nothing was written but by ``written``.
package enum SwapAnswer: Sendable, Equatable {
    /// It was written, now or by an earlier attempt with the same tag.
    case written
    /// Something else was written since the row was loaded.
    case otherTag
    case gone
    /// Another node may sign.
    case fenceLost
    /// The store was put back since the row was loaded.
    case otherEpoch
    /// Nodes of these names cannot read the new form.
    case olderNodes([String])
    case paused(DecisionPause)
}

package enum InsertAnswer: Sendable, Equatable {
    case written(slot: Int64)
    /// There is an activation of that identifier.
    case held
    /// The key is not the one that the store is sealed with now.
    case otherKey
}

package enum RowFilter: Sendable {
    case all
    /// Those that are being upgraded to another version of the protocol.
    case upgrading
}

/// The right to sign with one activation, as a driver gives it.
package struct Turn: Sendable {
    package let slot: Int64
    /// The lease under which changes are written; `nil` where a lock is enough.
    package var fence: Int64?
    /// Returns when the right ends unless it is renewed, as it is known at this moment; `nil` for one that only its holder ends.
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
