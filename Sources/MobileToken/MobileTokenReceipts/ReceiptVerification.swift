/// The result of verifying every line of exported receipts against the earlier ones.
public struct ReceiptVerification: Sendable, Hashable {
    /// The counts of the lines read.
    public struct Counts: Sendable, Hashable {
        /// All lines.
        public internal(set) var lines = 0
        /// Intents: signatures for decisions.
        public internal(set) var intents = 0
        /// Questions.
        public internal(set) var questions = 0
        /// Outcomes, including open ones.
        public internal(set) var outcomes = 0
        /// Intents of these lines with an unknown outcome.
        public internal(set) var open = 0
        /// Receipts of intents and questions with erased personal data.
        public internal(set) var erased = 0
        /// Entries that the store could not open at the export.
        public internal(set) var unreadable = 0
    }

    /// The counts of the verified lines, up to the fault if there is one.
    public internal(set) var counts = Counts()
    /// The number of the first entry. If it is not 1, earlier lines are elsewhere and were not verified.
    public internal(set) var firstNumber: UInt64?
    /// The number of the last entry.
    public internal(set) var lastNumber: UInt64?
    /// The digest of the last line, for comparison with a signature or another record.
    public internal(set) var head: [UInt8]?
    /// The signatures among the lines, each valid for the key it names.
    public internal(set) var signatures: [ReceiptSignature] = []
    /// The number of bytes after the last complete line, left by a crash; the next export removes them. No complete line is
    /// affected.
    public internal(set) var tornByteCount = 0
    /// The first line that does not continue the chain; `nil` if all do.
    public internal(set) var fault: ReceiptFault?

    /// Indicates whether every line continues the chain.
    public var isIntact: Bool { self.fault == nil }
}

/// The first changed, moved, missing or added line of exported receipts.
public struct ReceiptFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// A fault of a line.
    public enum Reason: Error, Sendable, Hashable, CustomStringConvertible {
        /// It is no JSON object, or repeats a member.
        case malformed
        /// Its version is unknown to this package.
        case unknownVersion
        /// A member is missing or invalid.
        case unreadableMember(String)
        /// Its digest is not the previous line's: one of the two was changed, or a line between them is missing.
        case brokenChain
        /// Its number does not follow the previous entry's.
        case wrongNumber
        /// It is an outcome or a completion without a matching open intent or question.
        case outcomeOfNothing
        /// The personal data differ from the recorded ones.
        case personalDataChanged
        /// The signature is not of the earlier lines, or by another key than the activation's.
        case wrongSignature
        /// The file ends within the line, and is not the last one.
        case incomplete

        /// The reason as a sentence.
        public var description: String {
            switch self {
            case .malformed: "it is not a JSON object"
            case .unknownVersion: "it has a version that this program does not know"
            case .unreadableMember(let name): "its member '\(name)' is missing or has another form"
            case .brokenChain: "it does not follow the line before: one was changed or left out"
            case .wrongNumber: "its number does not follow that of the entry before"
            case .outcomeOfNothing: "it is the outcome of an intent or a question that is not there, or that has one"
            case .personalDataChanged: "its personal data are not those that were recorded"
            case .wrongSignature: "its signature is not of the lines before, or by another key"
            case .incomplete: "the file ends within it"
            }
        }
    }

    /// The file.
    public let file: String
    /// The line in the file, from 1.
    public let line: Int
    /// The fault.
    public let reason: Reason

    /// The file, line and reason.
    public var description: String { "\(self.file):\(self.line): \(self.reason)" }
}
