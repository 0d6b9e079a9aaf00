import PostgresDatabase
import PowerAuthClient

extension MobileTokenError {
    /// Translates a database error for the store's user.
    init(_ error: PostgresError) {
        self.init(Code(error), "\(error)", underlying: error)
    }

    init(_ mismatch: PostgresSchema.Mismatch, schema: String) {
        switch mismatch {
        case .missing:
            self.init(
                .storeUnreadable,
                "The schema \(schema) does not have the tables of this version; run a migration"
            )
        case .newer(let version):
            self.init(
                .storeFromFuture,
                "The schema \(schema) has version \(version); this package knows \(PostgresSchema(name: schema).currentVersion)"
            )
        case .older(let version):
            self.init(
                .storeUnreadable,
                "The schema \(schema) has version \(version), which was never released; this package cannot read it"
            )
        case .encoding: self.init(.storeUnreadable, "The database does not store strings as UTF-8")
        }
    }

    /// Translates the database's errors for the store's user.
    static func mapped(_ error: any Error, schema: String) -> any Error {
        switch error {
        case let error as PostgresError: MobileTokenError(error)
        case let mismatch as PostgresSchema.Mismatch: MobileTokenError(mismatch, schema: schema)
        default: error
        }
    }

    /// Runs `body`, and translates the database's errors.
    static func mapping<Result>(schema: String, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            if Task.isCancelled, (error as? PostgresError)?.kind == .canceled { throw CancellationError() }
            throw self.mapped(error, schema: schema)
        }
    }
}

extension MobileTokenError.Code {
    init(_ error: PostgresError) {
        if let refusal = error.refusal {
            self = Self(refusal)
            return
        }
        self =
            switch error.kind {
            case .outcomeUnknown: .storeOutcomeUnknown
            case .invalidConfiguration: .invalidConfiguration
            case .unexpectedResult: .storeCorrupted
            case .unreachable, .connectionLost, .canceled, .refused: .storeUnreachable
            }
    }

    private init(_ refusal: PostgresError.Refusal) {
        self =
            switch refusal {
            case .full: .storeFull
            case .readOnly: .storeReadOnly
            case .tooManyConnections, .collision, .timeout: .storeBusy
            case .permission, .authentication: .storePermissions
            case .notReady: .storeUnreachable
            case .missing: .storeUnreadable
            // These concern a statement, so they must not make an activation look damaged.
            case .duplicate, .character, .other: .storeFailed
            }
    }
}
