import CPostgreSQL

/// A failed call to PostgreSQL. The description contains no statements, values and passwords, so it may be logged.
package struct PostgresError: Error, Equatable, CustomStringConvertible {
    /// The known outcome of the request.
    package enum Kind: String, Sendable {
        /// The connection string or an option is invalid.
        case invalidConfiguration
        /// Connecting failed. Nothing was done.
        case unreachable
        /// The connection was lost and nothing was done: it was a query, or its end had not been sent.
        case connectionLost
        /// The connection was lost during a change, which may be committed now, in a moment, or never.
        case outcomeUnknown
        case refused
        /// The caller canceled, and nothing was done.
        case canceled
        /// A value does not have the statement's type.
        case unexpectedResult
    }

    /// The kinds of refusal that callers distinguish.
    package enum Refusal: Sendable {
        case full
        /// The server accepts no further connections.
        case tooManyConnections
        /// The server is a standby or read-only for another reason.
        case readOnly
        /// The transaction conflicts with another one, and may be retried.
        case collision
        /// A lock or statement timed out.
        case timeout
        /// A row violates a unique key.
        case duplicate
        /// The role lacks a permission.
        case permission
        /// The role or its password was rejected.
        case authentication
        /// The server is starting, stopping or recovering.
        case notReady
        case missing
        /// A string contains a character that the database does not support.
        case character
        /// The schema or its content does not match the statement.
        case other
    }

    package let kind: Kind
    /// The server's five-character code, if any.
    package let sqlState: String?
    /// libpq's message about a failed connection, with host, port, role and database; otherwise empty.
    package let detail: String

    package init(_ kind: Kind, sqlState: String? = nil, detail: String = "") {
        self.kind = kind
        self.sqlState = sqlState
        self.detail = detail
    }

    /// The kind of refusal, if the server refused.
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
    /// Creates the error of a failed connection. The code is in the message, because there is no result.
    init(connecting handle: OpaquePointer) {
        let message = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
        let lines = message.utf8.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        // Each host has its own lines, some with locations in the server's source.
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
