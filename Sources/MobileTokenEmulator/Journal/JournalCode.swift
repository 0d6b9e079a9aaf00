import Basics
import EmulatorBackend

extension Emulator.JournalEntry {
    /// A signature or an authentication code that the server judged, and what it compared.
    public struct Code: Sendable, Codable, Hashable {
        /// One factor's part of it.
        public struct Component: Sendable, Codable, Hashable {
            /// `possession`, `knowledge` or `biometry`.
            public var factor: String
            /// Indicates whether it is the one that the server computed.
            public var matches: Bool
        }

        /// The version of the protocol, such as `3.3`.
        public var version: String
        /// The factors as the header names them, such as `possession_knowledge`.
        public var factors: String
        /// Indicates whether it is right.
        public var isRight: Bool
        /// The signed data in their normalized form: method, URI identifier, nonce and body, the last three in Base64. The
        /// application's secret, which follows, is left out; a long body is cut.
        public var signedData: String
        /// The number of moves of the counter before.
        public var counter: UInt64
        /// The number of counters ahead that were tried, if it is wrong.
        public var lookAhead: Int?
        /// The number of steps by which it is ahead of the server's counter: of a wrong one, at the place where most components match, looked
        /// for beyond ``lookAhead``, too. `nil` when no component matches anywhere.
        public var stepsAhead: UInt64?
        /// The number of steps by which it is behind the server's counter, if it is wrong for that alone, as after a backup was restored.
        public var stepsBehind: UInt64?
        /// The keys that most components match, if it is wrong: `current key` or `pending key`, in version 4.
        public var keyName: String?
        /// The components at that place.
        public var components: [Component]?
        /// The other data for which it would be right.
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

    /// About how many bytes it takes.
    var size: Int { self.signedData.utf8.count + (self.hint?.utf8.count ?? 0) + 256 }
}
