extension MobileTokenError.Code {
    /// The store holds an activation of this identifier already. Nothing was overwritten.
    public static let activationAlreadyStored = Self("activationAlreadyStored")
    /// The store holds no activation of this identifier.
    public static let activationNotStored = Self("activationNotStored")

    /// A file of the store cannot be opened, read or written; the message names the file and the reason.
    public static let storeUnreadable = Self("storeUnreadable")
    /// Others than the owner may read or write a file of the store, or it belongs to another user.
    public static let storePermissions = Self("storePermissions")
    /// The sealing key is not the one that the store was sealed with. Nothing was changed.
    public static let storeWrongSealingKey = Self("storeWrongSealingKey")
    /// There is no sealing key where the provider looks, or it is not 32 bytes long.
    public static let storeSealingKeyMissing = Self("storeSealingKeyMissing")
    /// There is no room left on the disk. What was stored before stands.
    public static let storeFull = Self("storeFull")
    /// The store may be read but not written. What was stored before stands.
    public static let storeReadOnly = Self("storeReadOnly")
    /// The stored data are damaged: not a database, or a value that fails authentication.
    public static let storeCorrupted = Self("storeCorrupted")
    /// The store was written by a newer version of this package. Nothing was changed.
    public static let storeFromFuture = Self("storeFromFuture")
    /// Other processes kept the store locked for too long. Nothing was changed; the call may be repeated. A pause of decisions is
    /// the exception: it may be set, and what was just being decided may have missed it.
    public static let storeBusy = Self("storeBusy")
    /// The database of the store cannot be reached, or is starting. Nothing was changed, but for a pause of decisions as with
    /// ``storeBusy``; the call may be repeated.
    public static let storeUnreachable = Self("storeUnreachable")
    /// The connection to the database was lost in the middle of a change. It may have been made, or be made in a moment: a
    /// counter value that it took is spent, and nothing was signed with it.
    public static let storeOutcomeUnknown = Self("storeOutcomeUnknown")
    /// Another node has the right to sign now, because this one did not renew its own in time. Nothing was sent; the call may be
    /// repeated.
    public static let signingTurnLost = Self("signingTurnLost")
    /// Nodes of an older program share the store, and could not read what would be written. Nothing was sent or changed; repeat
    /// the call when they have ended.
    public static let storeHasOlderNodes = Self("storeHasOlderNodes")
    /// The store was closed before the call.
    public static let storeClosed = Self("storeClosed")

    /// Automatic decisions are paused for all processes that share the store. Nothing was signed.
    public static let decidingPaused = Self("decidingPaused")

    /// There is no store of receipts behind these operations: their channel shows no evidence of an activation.
    public static let receiptsNotKept = Self("receiptsNotKept")

    /// Exported receipts do not end with what the store has at that place, so they cannot be continued.
    public static let receiptsDiffer = Self("receiptsDiffer")

    /// A decision is open, and what was asked for would wipe out what can still be found out about it.
    public static let decisionsOpen = Self("decisionsOpen")

    /// The store was restored from a backup that is too old: the server has seen signatures that this state never made,
    /// and more of them than can be made up for. The activation must be made anew.
    public static let stateRolledBack = Self("stateRolledBack")
}

extension MobileTokenError {
    static func alreadyStored() -> Self {
        Self(.activationAlreadyStored, "An activation with this identifier is already stored")
    }
    static func notStored() -> Self { Self(.activationNotStored, "No activation with this identifier is stored") }
}
