import Basics
import EmulatorBackend
import EmulatorMessages
import ExactJSON
public import Foundation

extension Emulator {
    /// A request that the server handled, or a callback that it sent. The journal excludes requests to the control API.
    public struct JournalEntry: Sendable, Codable, Hashable, Identifiable {
        /// A header field.
        public struct Header: Sendable, Codable, Hashable {
            /// The name as sent.
            public var name: String
            /// The value as sent, without Basic credentials.
            public var value: String
        }

        /// The entry's number, from 1. Numbers are never reused, not even after a reset.
        public var id: UInt64
        /// The server's time of the response.
        public var time: Date
        /// The request's method.
        public var method: String
        /// The path, without the context path and the query.
        public var path: String
        /// The query as sent; may be empty.
        public var query: String
        /// The request's header fields.
        public var headers: [Header]
        /// The request's body, cut if long.
        public var body: String
        /// The activation that the request named.
        public var activationID: String?
        /// The user of that activation, else the owner of the operations concerned.
        public var userID: String?
        /// The HTTP status of the response; 0 for a delivery without one.
        public var status: Int
        /// The body of the response, cut if long.
        public var responseBody: String
        /// Indicates whether the request succeeded.
        public var isAccepted: Bool
        /// The reason of a refusal; often more than the response says.
        public var refusal: String?
        /// The same in a few words, where more was found out about a signature: `The password is wrong`.
        public var finding: String?
        /// The activation's counter before the request, if the request may move it.
        public var counterBefore: UInt64?
        /// The activation's counter after the request.
        public var counterAfter: UInt64?
        /// The name of the applied fault rule.
        public var fault: String?
        /// The effect of that rule, such as `waited 5.0 s, carried out`.
        public var faultEffect: String?
        /// The delivery number of a callback that the server sent; ``path`` is then the whole address, and ``status`` is 0
        /// without a response.
        public var deliveryID: UInt64?
        /// The name of that callback; `nil` for the address of one operation.
        public var callbackName: String?
        /// The name of the virtual device that sent the request.
        public var deviceName: String?
        /// The decrypted body, one string per layer, outermost first. Secrets are masked.
        public var decryptedBody: [String]?
        /// The response's body before its encryption, one string per layer. Secrets are masked.
        public var decryptedResponseBody: [String]?
        /// The verified signature or authentication code, if any.
        public var code: Code?
        /// The operations that the request concerned or listed, at most a hundred.
        public var operationIDs: [String]?
        /// At most ten warnings about ignored parts of the request, which a real server ignores silently.
        public var warnings: [Warning]?

        /// An ignored member of a request.
        public struct Warning: Sendable, Codable, Hashable {
            /// The member's name.
            public var member: String
            /// The probably intended name.
            public var suggestion: String?
            /// The warning as text, such as `ignored: 'userID', did you mean 'userId'?`.
            public var message: String
        }
    }
}

/// The last requests, within limits.
struct Journal: Sendable {
    /// The maximum number of a server's entries.
    static let capacity = 10_000
    /// The number of bytes kept of a body.
    static let bodyCapacity = 16 * 1024
    /// The maximum total size of all entries, in bytes.
    static let totalCapacity = 64 << 20

    private var log: RecentLog<(entry: Emulator.JournalEntry, notes: [OperationNote])>
    /// The number of refused requests since the last ``removeAll()``, callbacks excluded.
    private(set) var refusedCount = 0
    /// The last of them.
    private(set) var lastRefusedID: UInt64?

    init(capacity: Int = Self.capacity, totalCapacity: Int = Self.totalCapacity) {
        self.log = RecentLog(capacity: capacity, totalCapacity: totalCapacity)
    }

    var lastID: UInt64 { self.log.lastID }

    mutating func append(
        _ request: ReceivedRequest,
        reply: Reply,
        fault: String?,
        faultEffect: String? = nil,
        delivery: Outbox.Delivery? = nil,
        deviceName: String? = nil,
        userID: String? = nil,
        at time: Date
    ) -> Emulator.JournalEntry {
        var refusal: String?
        if case .refused(let reason) = reply.verdict { refusal = reason }
        // Encrypted bodies of devices are shown decrypted, with their secrets masked.
        let isMasked = delivery != nil || ["/v2/", "/admin/"].contains { request.path.utf8.starts(with: $0.utf8) }
        let code = reply.inspection.code.map {
            Emulator.JournalEntry.Code($0, counterAfter: reply.counterAfter, bodyCapacity: Self.bodyCapacity)
        }
        let entry = Emulator.JournalEntry(
            id: self.log.nextID,
            time: time,
            method: request.method,
            path: request.path,
            query: request.rawQuery,
            headers: request.headers.map { .init(name: $0.name, value: Self.withoutCredentials($0)) },
            body: Self.excerpt(request.body, masked: isMasked),
            activationID: reply.activationID,
            userID: userID,
            status: reply.status,
            responseBody: Self.excerpt(reply.body, masked: isMasked),
            isAccepted: refusal == nil,
            refusal: refusal,
            finding: refusal.map { code?.finding ?? $0 },
            counterBefore: reply.counterBefore,
            counterAfter: reply.counterAfter,
            fault: fault,
            faultEffect: faultEffect,
            deliveryID: delivery?.id,
            callbackName: delivery?.message.callbackName,
            deviceName: deviceName,
            decryptedBody: Self.excerpts(reply.inspection.decryptedRequest),
            decryptedResponseBody: Self.excerpts(reply.inspection.decryptedResponse),
            code: code,
            operationIDs: Self.identifiers(of: reply.inspection),
            warnings: Self.warnings(reply.inspection.warnings)
        )
        if refusal != nil, delivery == nil {
            self.refusedCount += 1
            self.lastRefusedID = entry.id
        }
        let notes = reply.inspection.notes
        self.log.append((entry, notes), size: notes.reduce(entry.size) { $0 + ($1.reason?.utf8.count ?? 0) })
        return entry
    }

    /// Removes the entries; numbers continue.
    mutating func removeAll() {
        self.log.removeAll()
        self.refusedCount = 0
        self.lastRefusedID = nil
    }

    func entry(_ id: UInt64) -> Emulator.JournalEntry? { self.log[id]?.entry }

    /// Returns the last refused request of an activation that concerned an operation.
    ///
    /// - Parameters:
    ///   - operationID: `nil` for any.
    ///   - id: The entry after which it is looked for.
    func lastRefusal(
        of activationID: String,
        about operationID: String? = nil,
        since id: UInt64
    ) -> Emulator.JournalEntry? {
        self.entries(
            self.newer(than: id).reversed(),
            limit: 1,
            Emulator.JournalFilter(
                verdict: .refused,
                activationID: activationID,
                operationID: operationID
            )
        ).first
    }

    /// The entries after a number, oldest first.
    func entries(since id: UInt64, limit: Int = .max, _ filter: Emulator.JournalFilter = .init()) -> [Emulator
        .JournalEntry]
    {
        self.entries(self.newer(than: id), limit: limit, filter)
    }

    private func newer(than id: UInt64) -> Range<UInt64> {
        self.log.ids.clamped(to: min(id, self.lastID) + 1..<self.log.nextID)
    }

    /// The last entries before a number, newest first.
    func entries(before id: UInt64, limit: Int, _ filter: Emulator.JournalFilter = .init()) -> [Emulator.JournalEntry] {
        self.entries(self.log.ids.clamped(to: 0..<id).reversed(), limit: limit, filter)
    }

    /// Returns the number of matching entries.
    func count(_ filter: Emulator.JournalFilter) -> Int {
        let isMeant = filter.predicate()
        return self.log.elements(self.log.ids).reduce(0) { isMeant($1.entry) ? $0 + 1 : $0 }
    }

    /// Returns an operation's requests and callbacks, oldest first, as far as they are kept.
    func moments(ofOperation id: String) -> [Emulator.OperationMoment] {
        var moments: [Emulator.OperationMoment] = []
        var attempts: [UInt64: Int] = [:]
        for (entry, notes) in self.log.elements(self.log.ids) {
            if let delivery = entry.deliveryID, entry.isAttempt, entry.operationIDs?.contains(id) == true {
                attempts[delivery, default: 0] += 1
                moments.append(.init(entry, attempt: attempts[delivery] ?? 1))
            }
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

    private static func excerpt(_ body: [UInt8], masked isMasked: Bool = false) -> String {
        let body = isMasked ? Self.withoutSecrets(body) : body
        guard body.count > Self.bodyCapacity else { return String(decoding: body, as: UTF8.self) }
        return String(decoding: body.prefix(Self.bodyCapacity), as: UTF8.self) + "… (\(body.count) bytes)"
    }

    /// Masks passwords, keys and secrets, because the journal needs no credentials.
    private static func withoutSecrets(_ body: [UInt8]) -> [UInt8] {
        guard JSONValue.mayHoldCredentials(body) else { return body }
        if let json = try? JSONValue(parsing: body) {
            let masked = json.maskingCredentials()
            return masked == json ? body : masked.serialized()
        }
        let text = String(decoding: body, as: UTF8.self)
        guard text.utf8.starts(with: "grant_type=".utf8) else { return body }
        let parts = text.split(separator: "&").map { part in
            part.hasPrefix("client_secret=") ? "client_secret=(not shown)" : String(part)
        }
        return Array(parts.joined(separator: "&").utf8)
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
        // By bytes: to a `String`, a space followed by a combining mark is no space.
        let scheme = header.value.utf8.split(separator: UInt8(ascii: " ")).first
        return (scheme.map { String(Substring($0)) } ?? "") + " …"
    }
}

extension Emulator.JournalEntry {
    /// Indicates whether a callback was sent, not a request for its access token.
    fileprivate var isAttempt: Bool { self.headers.contains { $0.name == "Idempotency-Key" } }

    /// The approximate size in bytes.
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
