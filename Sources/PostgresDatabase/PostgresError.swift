import CPostgreSQL

/// A call to PostgreSQL that failed.
///
/// The description quotes no statement, no value and no password, so it may be logged.
package struct PostgresError: Error, Equatable, CustomStringConvertible {
    /// The fate of the request, as far as it is known.
    package enum Kind: String, Sendable {
        /// The connection string, or an option, cannot be used.
        case invalidConfiguration
        /// No connection was made. Nothing was done.
        case unreachable
        /// The connection was lost, and nothing was done: it was a query, or its end had not been sent.
        case connectionLost
        /// The connection was lost while a change was under way. It may be committed, now or in a moment, or never be.
        case outcomeUnknown
        /// The server refused. Nothing was done.
        case refused
        /// The caller gave up, and nothing was done.
        case canceled
        /// A value is not of the type that the statement promises.
        case unexpectedResult
    }

    /// The kind of a refusal, as far as a caller needs to tell them apart.
    package enum Refusal: Sendable {
        /// The disk is full.
        case full
        /// The server has no room for another connection.
        case tooManyConnections
        /// The server stands by, or may not write for another reason.
        case readOnly
        /// It collided with another transaction, which changed or removed what it refers to, and may be tried again.
        case collision
        /// A lock was not had, or the statement did not end, in the time that it was given.
        case timeout
        /// A row breaks a unique key.
        case duplicate
        /// The role may not do this.
        case permission
        /// The role or its password is not accepted.
        case authentication
        /// The server is starting, stopping or recovering.
        case notReady
        /// A table or schema is not there.
        case missing
        /// A string has a character that the database cannot hold.
        case character
        /// The schema, or what it holds, does not fit the statement.
        case other
    }

    package let kind: Kind
    /// The server's code of five characters, where it said one.
    package let sqlState: String?
    /// The words of libpq about a connection that was not made: host, port, role and database. Otherwise empty.
    package let detail: String

    package init(_ kind: Kind, sqlState: String? = nil, detail: String = "") {
        self.kind = kind
        self.sqlState = sqlState
        self.detail = detail
    }

    /// The kind of the server's refusal, if it refused.
    package var refusal: Refusal? {
        guard let sqlState, self.kind == .refused || self.kind == .unreachable else { return nil }
        return switch sqlState {
        case "53100": .full
        case "53300": .tooManyConnections
        case "25006": .readOnly
        case "40001", "40P01", "23503": .collision
        case "55P03", "57014": .timeout
        case "23505": .duplicate
        case "42501": .permission
        case "28000", "28P01": .authentication
        case "57P01", "57P02", "57P03": .notReady
        case "42P01", "3F000", "3D000": .missing
        case "22021", "22P05": .character
        default: .other
        }
    }

    package var description: String {
        let code = self.sqlState.map { " (SQLSTATE \($0))" } ?? ""
        return "PostgreSQL: \(self.kind.rawValue)\(code)\(self.detail.isEmpty ? "" : ": \(self.detail)")"
    }
}

extension PostgresError {
    /// Reads why a connection was not made. The code stands in the message: there is no result that would have it.
    init(connecting handle: OpaquePointer) {
        let message = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
        let lines = message.utf8.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        // Of several hosts each has lines of its own, some of which say where in the server's source it refused.
        let sqlState = lines.lazy.compactMap { Self.sqlState(in: $0) }.last
        let detail = lines.filter { !$0.utf8.starts(with: "LOCATION:".utf8) }.joined(separator: "; ")
        self.init(.unreachable, sqlState: sqlState, detail: detail)
    }

    /// Finds `53300` in `…: FATAL:  53300: sorry, too many clients already`.
    static func sqlState(in message: String) -> String? {
        let bytes = Array(message.utf8)
        for start in bytes.indices.dropLast(7) where bytes[start] == UInt8(ascii: " ") {
            let code = bytes[(start + 2)..<(start + 7)]
            let isCode = code.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
            }
            guard bytes[start + 1] == UInt8(ascii: " "), isCode, bytes[start + 7] == UInt8(ascii: ":") else { continue }
            return String(decoding: code, as: UTF8.self)
        }
        return nil
    }
}
