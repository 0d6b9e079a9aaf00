import Basics
import EmulatorBackend
import EmulatorMessages
import ExactJSON
public import Foundation

extension Emulator {
    /// One request that the server handled, or a callback that it sent, as the journal keeps it. Requests to the control
    /// API are not in it.
    public struct JournalEntry: Sendable, Codable, Hashable, Identifiable {
        /// A header field.
        public struct Header: Sendable, Codable, Hashable {
            /// The name as sent.
            public var name: String
            /// The value as sent, without Basic credentials.
            public var value: String
        }

        /// The entry's number, from 1; they are never reused, not even after a reset.
        public var id: UInt64
        /// The server's time of the response.
        public var time: Date
        /// The request's method.
        public var method: String
        /// The path, without the context path and the query.
        public var path: String
        /// The query as sent; empty when there is none.
        public var query: String
        /// The request's header fields.
        public var headers: [Header]
        /// The request's body; a long one is cut.
        public var body: String
        /// The activation that the request named.
        public var activationID: String?
        /// The user of that activation, or else the one whose operations the request was about.
        public var userID: String?
        /// The HTTP status of the response; 0 for a delivery without one.
        public var status: Int
        /// The body of the response; a long one is cut.
        public var responseBody: String
        /// Indicates whether the request did what it asked for.
        public var isAccepted: Bool
        /// The reason of the refusal, if it was refused; often more than the response says.
        public var refusal: String?
        /// The activation's counter before the request, if the request was one that may move it.
        public var counterBefore: UInt64?
        /// The activation's counter after the request.
        public var counterAfter: UInt64?
        /// The fault rule that was applied.
        public var fault: String?
        /// For a callback that the server sent, the number of its delivery; ``path`` is then the whole address, and
        /// ``status`` is 0 when there was no response.
        public var deliveryID: UInt64?
        /// For a request of a virtual device, the device's name.
        public var deviceName: String?
        /// The body as it was decrypted, one string for each layer, the outer one first. Secrets are masked.
        public var decryptedBody: [String]?
        /// The body of the response before it was encrypted, one string for each layer. Secrets are masked.
        public var decryptedResponseBody: [String]?
        /// The signature or the authentication code, if one was judged.
        public var code: Code?
        /// The operations that the request was about or listed, a hundred at most.
        public var operationIDs: [String]?
        /// Warnings about ignored parts of the request, which a real server ignores without a word; ten at most.
        public var warnings: [Warning]?

        /// A member of a request that was ignored.
        public struct Warning: Sendable, Codable, Hashable {
            /// The member's name.
            public var member: String
            /// The name that may have been meant.
            public var suggestion: String?
            /// The warning in words, such as `ignored: 'userID', did you mean 'userId'?`.
            public var message: String
        }
    }
}

/// The last requests, so many that they fit the bounds.
struct Journal: Sendable {
    /// The number of entries that a server keeps.
    static let capacity = 10_000
    /// The number of bytes of a body that are kept.
    static let bodyCapacity = 16 * 1024
    /// The number of bytes of strings that all entries of a server together keep.
    static let totalCapacity = 64 << 20

    private var log: RecentLog<(entry: Emulator.JournalEntry, notes: [OperationNote])>

    init(capacity: Int = Self.capacity, totalCapacity: Int = Self.totalCapacity) {
        self.log = RecentLog(capacity: capacity, totalCapacity: totalCapacity)
    }

    var lastID: UInt64 { self.log.lastID }

    mutating func append(
        _ request: ReceivedRequest,
        reply: Reply,
        fault: String?,
        deliveryID: UInt64? = nil,
        deviceName: String? = nil,
        userID: String? = nil,
        at time: Date
    ) -> Emulator.JournalEntry {
        var refusal: String?
        if case .refused(let reason) = reply.verdict { refusal = reason }
        let entry = Emulator.JournalEntry(
            id: self.log.nextID,
            time: time,
            method: request.method,
            path: request.path,
            query: request.rawQuery,
            headers: request.headers.map { .init(name: $0.name, value: Self.withoutCredentials($0)) },
            body: Self.excerpt(request.body),
            activationID: reply.activationID,
            userID: userID,
            status: reply.status,
            responseBody: Self.excerpt(reply.body),
            isAccepted: refusal == nil,
            refusal: refusal,
            counterBefore: reply.counterBefore,
            counterAfter: reply.counterAfter,
            fault: fault,
            deliveryID: deliveryID,
            deviceName: deviceName,
            decryptedBody: Self.excerpts(reply.inspection.decryptedRequest),
            decryptedResponseBody: Self.excerpts(reply.inspection.decryptedResponse),
            code: reply.inspection.code.map {
                .init($0, counterAfter: reply.counterAfter, bodyCapacity: Self.bodyCapacity)
            },
            operationIDs: Self.identifiers(of: reply.inspection),
            warnings: Self.warnings(reply.inspection.warnings)
        )
        let notes = reply.inspection.notes
        self.log.append((entry, notes), size: notes.reduce(entry.size) { $0 + ($1.reason?.utf8.count ?? 0) })
        return entry
    }

    /// Forgets the entries; numbers go on.
    mutating func removeAll() { self.log.removeAll() }

    /// Returns an entry, if it is still kept.
    func entry(_ id: UInt64) -> Emulator.JournalEntry? { self.log[id]?.entry }

    /// Entries with a greater number, oldest first.
    func entries(since id: UInt64, limit: Int = .max, _ filter: Emulator.JournalFilter = .init()) -> [Emulator
        .JournalEntry]
    {
        let newer = self.log.ids.clamped(to: min(id, self.lastID) + 1..<self.log.nextID)
        return self.entries(newer, limit: limit, filter)
    }

    /// The last entries before a number, newest first.
    func entries(before id: UInt64, limit: Int, _ filter: Emulator.JournalFilter = .init()) -> [Emulator.JournalEntry] {
        self.entries(self.log.ids.clamped(to: 0..<id).reversed(), limit: limit, filter)
    }

    /// Counts the entries that are asked for.
    func count(_ filter: Emulator.JournalFilter) -> Int {
        let isMeant = filter.predicate()
        return self.log.elements(self.log.ids).reduce(0) { isMeant($1.entry) ? $0 + 1 : $0 }
    }

    /// Returns what happened to an operation, oldest first, as far as the requests are still kept.
    func moments(ofOperation id: String) -> [Emulator.OperationMoment] {
        var moments: [Emulator.OperationMoment] = []
        for (entry, notes) in self.log.elements(self.log.ids) {
            for note in notes where note.operationID == id {
                let moment = Emulator.OperationMoment(note, entry)
                if let same = moments.firstIndex(where: moment.repeats) {
                    moments[same].count += 1
                    moments[same].last = moment.time
                } else {
                    moments.append(moment)
                }
            }
        }
        return moments
    }

    private func entries(
        _ ids: some Collection<UInt64>,
        limit: Int,
        _ filter: Emulator.JournalFilter
    ) -> [Emulator.JournalEntry] {
        Array(self.log.elements(ids).lazy.map(\.entry).filter(filter.predicate()).prefix(limit))
    }

    private static func excerpt(_ body: [UInt8]) -> String {
        guard body.count > Self.bodyCapacity else { return String(decoding: body, as: UTF8.self) }
        return String(decoding: body.prefix(Self.bodyCapacity), as: UTF8.self) + "… (\(body.count) bytes)"
    }

    private static func excerpts(_ layers: [JSONValue]) -> [String]? {
        layers.isEmpty ? nil : layers.map { Self.excerpt($0.serialized()) }
    }

    private static func identifiers(of inspection: RequestInspection) -> [String]? {
        let ids = inspection.operationIDs
        return ids.isEmpty ? nil : Array(ids.prefix(100))
    }

    private static func warnings(_ warnings: [RequestWarning]) -> [Emulator.JournalEntry.Warning]? {
        warnings.isEmpty
            ? nil : warnings.map { .init(member: $0.member, suggestion: $0.suggestion, message: $0.message) }
    }

    private static func withoutCredentials(_ header: (name: String, value: String)) -> String {
        guard header.name.equalsIgnoringASCIICase("Authorization") else { return header.value }
        // By bytes: to a `String`, a space with a combining mark behind it is no space.
        let scheme = header.value.utf8.split(separator: UInt8(ascii: " ")).first
        return (scheme.map { String(Substring($0)) } ?? "") + " …"
    }
}

extension Emulator.JournalEntry {
    /// About how many bytes it takes.
    fileprivate var size: Int {
        self.headers.reduce(self.path.utf8.count + self.query.utf8.count) {
            $0 + $1.name.utf8.count + $1.value.utf8.count
        }
            + self.body.utf8.count + self.responseBody.utf8.count + 256 + self.inspectionSize
    }

    private var inspectionSize: Int {
        let layers =
            (self.decryptedBody ?? []) + (self.decryptedResponseBody ?? []) + (self.operationIDs ?? [])
            + (self.warnings ?? []).flatMap { [$0.member, $0.message] }
        return layers.reduce(self.code?.size ?? 0) { $0 + $1.utf8.count + 16 }
    }
}
