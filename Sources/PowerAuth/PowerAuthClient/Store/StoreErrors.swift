extension MobileTokenError.Code {
    /// The store already has this activation. Nothing was overwritten.
    public static let activationAlreadyStored = Self("activationAlreadyStored")
    /// The store does not have this activation.
    public static let activationNotStored = Self("activationNotStored")

    /// A file of the store cannot be opened, read or written; the message names the file and the reason.
    public static let storeUnreadable = Self("storeUnreadable")
    /// Users other than the owner can access a file of the store, or another user owns it.
    public static let storePermissions = Self("storePermissions")
    /// The sealing key is not the one that the store was sealed with. Nothing was changed.
    public static let storeWrongSealingKey = Self("storeWrongSealingKey")
    /// The provider finds no sealing key, or its length is not 32 bytes.
    public static let storeSealingKeyMissing = Self("storeSealingKeyMissing")
    /// A file of the store was replaced while open, for example by a restored backup. Nothing was changed.
    public static let storeReplaced = Self("storeReplaced")
    /// The disk is full. Earlier data are safe.
    public static let storeFull = Self("storeFull")
    /// The store is read-only. Earlier data are safe.
    public static let storeReadOnly = Self("storeReadOnly")
    /// The stored data are damaged: not a database, or a value fails authentication.
    public static let storeCorrupted = Self("storeCorrupted")
    /// The store was written by a newer version of this package. Nothing was changed.
    public static let storeFromFuture = Self("storeFromFuture")
    /// Other processes kept the store locked for too long. Nothing was changed; retry. Exception: a pause of decisions may be
    /// set, and a decision in progress may have missed it.
    public static let storeBusy = Self("storeBusy")
    /// The store's database is unreachable or starting. Nothing was changed, except a pause of decisions as with ``storeBusy``;
    /// retry.
    public static let storeUnreachable = Self("storeUnreachable")
    /// The database connection was lost during a change, which may still be committed. Its counter value is spent, and nothing
    /// was signed with it.
    public static let storeOutcomeUnknown = Self("storeOutcomeUnknown")
    /// Another node now has the right to sign, because this one did not renew its own in time. Nothing was sent; retry.
    public static let signingTurnLost = Self("signingTurnLost")
    /// Nodes of an older version share the store and could not read the change. Nothing was sent or changed; retry when they have
    /// ended.
    public static let storeHasOlderNodes = Self("storeHasOlderNodes")
    /// The store was closed before the call.
    public static let storeClosed = Self("storeClosed")

    /// Automatic decisions are paused for all processes that share the store. Nothing was signed.
    public static let decidingPaused = Self("decidingPaused")

    /// A decision would pass a limit, whose name is in the message. Nothing was signed.
    public static let limitReached = Self("limitReached")

    /// The store was restored from a backup that is too old: the server has seen more unknown signatures than can be skipped.
    /// Replace the activation.
    public static let stateRolledBack = Self("stateRolledBack")
}

extension MobileTokenError {
    /// Returns the error of a decision that would pass a limit.
    package static func limitReached(_ name: String) -> Self {
        var error = Self(.limitReached, "The limit '\(name)' is reached")
        error.limit = name
        return error
    }

    static func alreadyStored() -> Self {
        Self(.activationAlreadyStored, "An activation with this identifier is already stored")
    }
    static func notStored() -> Self { Self(.activationNotStored, "No activation with this identifier is stored") }
}
