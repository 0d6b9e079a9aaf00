import SQLiteDatabase

extension MobileTokenError {
    /// Translates an error of SQLite for the store's user.
    init(_ error: SQLiteError, path: String) {
        self.init(Code(error.kind), "\(path): \(error)", underlying: error)
    }
}

extension MobileTokenError.Code {
    fileprivate init(_ kind: SQLiteError.Kind) {
        self =
            switch kind {
            case .full: .storeFull
            case .readOnly: .storeReadOnly
            case .busy: .storeBusy
            // The schema is fixed: an invalid statement or a violated constraint means a damaged file.
            case .corrupted, .constraint, .statement: .storeCorrupted
            case .other: .storeUnreadable
            }
    }
}
