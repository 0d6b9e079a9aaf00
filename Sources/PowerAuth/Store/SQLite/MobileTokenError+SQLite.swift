import SQLiteDatabase

extension MobileTokenError {
    /// Makes the error that the user of a store sees.
    init(_ error: SQLiteError, path: String) {
        self.init(Code(error.kind), "\(path): \(error)", underlying: error)
    }
}

extension MobileTokenError.Code {
    /// Makes the code that the user of a store sees.
    fileprivate init(_ kind: SQLiteError.Kind) {
        self =
            switch kind {
            case .full: .storeFull
            case .readOnly: .storeReadOnly
            case .busy: .storeBusy
            // The schema is ours: a statement that does not fit it, or a broken constraint, means a damaged file.
            case .corrupted, .constraint, .statement: .storeCorrupted
            case .other: .storeUnreadable
            }
    }
}
