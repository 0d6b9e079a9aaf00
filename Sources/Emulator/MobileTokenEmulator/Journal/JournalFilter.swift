package import APIDescriptions
import Basics
import ExactJSON

extension Emulator {
    /// A journal filter. An entry must match every property that is set.
    ///
    /// ```swift
    /// let refused = try await emulator.journal(matching: .init(path: "/api/**", verdict: .refused))
    /// ```
    public struct JournalFilter: Sendable, Hashable {
        /// The result of a request.
        public enum Verdict: String, Sendable, CaseIterable {
            /// The request succeeded.
            case accepted
            /// The request was refused, or the bank did not accept a callback.
            case refused
        }

        /// The method, such as `POST`.
        public var method: String?
        /// The path, with or without `/enrollment-server`; `*` is any string without a slash, `**` any string.
        public var path: String?
        /// The statuses of the response; 0 is no response.
        public var status: ClosedRange<Int>?
        /// The result: accepted or refused.
        public var verdict: Verdict?
        /// The user of the named activation, or of the operation concerned.
        public var userID: String?
        /// The activation that the request named.
        public var activationID: String?
        /// An operation that the request concerned or listed.
        public var operationID: String?
        /// The delivery of a callback attempt.
        public var deliveryID: UInt64?
        /// The name of the applied fault rule.
        public var fault: String?
        /// The virtual device that sent the request, by name or activation.
        public var deviceName: String?

        /// Creates a filter with all the given parts.
        public init(
            method: String? = nil,
            path: String? = nil,
            status: ClosedRange<Int>? = nil,
            verdict: Verdict? = nil,
            userID: String? = nil,
            activationID: String? = nil,
            operationID: String? = nil,
            deliveryID: UInt64? = nil,
            fault: String? = nil,
            deviceName: String? = nil
        ) {
            self.method = method
            self.path = path
            self.status = status
            self.verdict = verdict
            self.userID = userID
            self.activationID = activationID
            self.operationID = operationID
            self.deliveryID = deliveryID
            self.fault = fault
            self.deviceName = deviceName
        }
    }
}

// MARK: - Fields

extension Emulator.JournalFilter: Described {
    package static let fields = FieldTable(
        "JournalFilter",
        Emulator.JournalFilter.init,
        .optional("method", \.method, .word, "Those of this method.", example: "POST"),
        .optional(
            "path",
            \.path,
            .string(upTo: 1024),
            "Those to this path; * is anything but a slash, ** anything.",
            example: "/api/**"
        ),
        .optional(
            "status",
            \.status,
            .statuses,
            "Those with this status, such as 404, one of a class, such as 4xx, or of a range, such as 400-404.",
            example: 400...499
        ),
        .optional("verdict", \.verdict, .cases(), "Those that were accepted, or refused.", example: .refused),
        .optional("userId", \.userID, .word, "Those of this user's activations, or about this user's operations."),
        .optional("activationId", \.activationID, .word, "Those that name this activation."),
        .optional("operationId", \.operationID, .word, "Those that are about this operation, or list it."),
        .optional("deliveryId", \.deliveryID, .count, "The attempts of this delivery.", unit: .number),
        .optional("fault", \.fault, .word, "Those that the fault rule of this name struck."),
        .optional("device", \.deviceName, .word, "Those of the virtual device of this name, or of this activation.")
    ).refusing(\.objection)
}

extension Form<ClosedRange<Int>> {
    /// A status, a class of statuses or a range of them; 0 is no response.
    static var statuses: Self {
        Self(
            .word,
            read: { (value, place) throws(Schema.Objection) in
                guard let statuses = value.string.flatMap(Self.statuses(named:)) else {
                    throw place.objection(
                        "is no status, no class of them such as 4xx, and no range such as 400-404",
                        value
                    )
                }
                return statuses
            },
            write: { .string("\($0.lowerBound)-\($0.upperBound)") }
        )
    }

    private static func statuses(named name: String) -> ClosedRange<Int>? {
        let digits = name.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        if digits.count == 1, name.utf8.dropFirst().elementsEqual("xx".utf8) {
            return Int(String(Substring(digits))).flatMap { (1...5).contains($0) ? $0 * 100...$0 * 100 + 99 : nil }
        }
        let bounds = name.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            .map { Int(String(Substring($0))) }
        guard bounds.count <= 2, let first = bounds[0], let last = bounds[bounds.count - 1], first <= last,
            Emulator.JournalFilter.isStatus(first), Emulator.JournalFilter.isStatus(last)
        else { return nil }
        return first...last
    }
}

// MARK: - Matching

extension Emulator.JournalFilter {
    fileprivate static func isStatus(_ number: Int) -> Bool { number == 0 || (100...599).contains(number) }

    /// The reason why no request can match; `nil` if one can.
    var objection: Schema.Objection? {
        if let objection = self.method.flatMap(RequestPattern.objection(toMethod:)) { return objection }
        if let status, !(0...599).overlaps(status) { return .init(member: "status", hint: "is none of HTTP's") }
        return self.path.flatMap { RequestPattern.objection(toPath: $0, "is not in the journal") }
    }

    /// - Throws: `invalidConfiguration` for a filter that no request can match, which would always find nothing.
    func check() throws(EmulatorError) {
        if let objection { throw EmulatorError(.invalidConfiguration, objection.message) }
    }

    /// Returns a test of entries, with its pattern computed once.
    func predicate() -> @Sendable (Emulator.JournalEntry) -> Bool {
        let pattern = self.path.map { PathPattern(ofRequests: $0) }
        return { entry in
            if let verdict = self.verdict, (verdict == .accepted) != entry.isAccepted { return false }
            if let status = self.status, !status.contains(entry.status) { return false }
            if let method = self.method, !method.equalsIgnoringASCIICase(entry.method) { return false }
            if let id = self.userID, id != entry.userID { return false }
            if let id = self.activationID, id != entry.activationID { return false }
            if let id = self.operationID, entry.operationIDs?.contains(id) != true { return false }
            if let id = self.deliveryID, id != entry.deliveryID { return false }
            if let name = self.fault, name != entry.fault { return false }
            if let device = self.deviceName, device != entry.deviceName,
                entry.deviceName == nil || device != entry.activationID
            {
                return false
            }
            return pattern?.matches(entry.path) ?? true
        }
    }
}
