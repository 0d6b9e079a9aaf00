import Basics
import EmulatorBackend

extension Emulator.JournalEntry {
    /// A verified signature or authentication code, with the comparison.
    public struct Code: Sendable, Codable, Hashable {
        /// One factor's component.
        public struct Component: Sendable, Codable, Hashable {
            /// `possession`, `knowledge` or `biometry`.
            public var factor: String
            /// Indicates whether it equals the server's component.
            public var matches: Bool
        }

        /// The protocol version, such as `3.3`.
        public var version: String
        /// The factors in the header, such as `possession_knowledge`.
        public var factors: String
        /// Indicates whether the code is valid.
        public var isRight: Bool
        /// The normalized signed data: method, URI identifier, nonce and body, the last three in Base64. The application's
        /// secret, which follows, is omitted; a long body is cut.
        public var signedData: String
        /// The counter before the verification.
        public var counter: UInt64
        /// The number of counters ahead that were tried for an invalid code.
        public var lookAhead: Int?
        /// The number of steps that the code is ahead of the server's counter. For an invalid code, the position with the most
        /// matching components, searched beyond ``lookAhead`` too; `nil` if no component matches anywhere.
        public var stepsAhead: UInt64?
        /// The number of steps behind the server's counter, if that is the only error, as after restoring a backup.
        public var stepsBehind: UInt64?
        /// The keys with the most matches for an invalid code in version 4: `current key` or `pending key`.
        public var keyName: String?
        /// The components at that position.
        public var components: [Component]?
        /// The different data for which the code would be valid.
        public var hint: String?
    }
}

extension Emulator.JournalEntry.Code {
    init(_ code: CodeInspection, counterAfter: UInt64?, bodyCapacity: Int) {
        self.version = code.version
        self.factors = code.type.rawValue
        self.isRight = code.diagnosis == nil
        let data = code.signedData
        self.signedData = String(decoding: data.prefix(bodyCapacity), as: UTF8.self)
        if data.count > bodyCapacity { self.signedData += "… (\(data.count) bytes)" }
        self.counter = code.counter
        guard let diagnosis = code.diagnosis else {
            self.stepsAhead = counterAfter?.subtractingSaturated(code.counter).subtractingSaturated(1)
            return
        }
        self.lookAhead = diagnosis.lookAhead
        self.hint = diagnosis.hint
        guard let nearest = diagnosis.nearest else { return }
        if nearest.stepsAhead < 0 {
            self.stepsBehind = UInt64(nearest.stepsAhead.magnitude)
        } else {
            self.stepsAhead = UInt64(clamping: nearest.stepsAhead)
        }
        self.keyName = nearest.keyName
        self.components = zip(diagnosis.factors, nearest.matches).map {
            Component(factor: $0.rawValue, matches: $1)
        }
    }

    /// The finding about an invalid code, in a few words; `nil` for a valid one.
    var finding: String? {
        guard !self.isRight else { return nil }
        guard let components else {
            return self.hint == nil ? "Nothing of the signature matches" : "Other data was signed"
        }
        if self.stepsBehind != nil { return "The counter was used before" }
        let wrong = components.filter { !$0.matches }.map(\.factor)
        if wrong.isEmpty { return "The counter is too far ahead" }
        return wrong.contains("knowledge")
            ? "The password is wrong" : "The key of \(wrong.joined(separator: " and ")) is wrong"
    }

    /// The approximate size in bytes.
    var size: Int { self.signedData.utf8.count + (self.hint?.utf8.count ?? 0) + 256 }
}
