/// The result of checking every line of exported receipts against those before it.
public struct ReceiptVerification: Sendable, Hashable {
    /// The extent of what was read.
    public struct Counts: Sendable, Hashable {
        /// Lines in all.
        public internal(set) var lines = 0
        /// Intents: signatures that were to decide something.
        public internal(set) var intents = 0
        /// Questions that were asked.
        public internal(set) var questions = 0
        /// Outcomes, open ones included.
        public internal(set) var outcomes = 0
        /// Intents of these lines whose outcome is not known.
        public internal(set) var open = 0
        /// Receipts of intents and questions whose personal data were erased.
        public internal(set) var erased = 0
        /// Entries that the store could not open when they were exported.
        public internal(set) var unreadable = 0
    }

    /// The extent of what was checked, up to the fault if there is one.
    public internal(set) var counts = Counts()
    /// The number of the first entry. When it is not 1, earlier lines are kept elsewhere, and what they say was not checked.
    public internal(set) var firstNumber: UInt64?
    /// The number of the last entry.
    public internal(set) var lastNumber: UInt64?
    /// The digest of the last line, which a signature or another record of it can be compared with.
    public internal(set) var head: [UInt8]?
    /// The signatures among the lines. Each is valid for the key that it names.
    public internal(set) var signatures: [ReceiptSignature] = []
    /// The number of bytes behind the last whole line: the trace of a crash, which the next export removes. No line that was there
    /// before is affected.
    public internal(set) var tornByteCount = 0
    /// The first line that does not follow from those before; `nil` when all do.
    public internal(set) var fault: ReceiptFault?

    /// Indicates that every line follows from those before it.
    public var isIntact: Bool { self.fault == nil }
}

/// The first line of exported receipts that was changed, moved, left out or added.
public struct ReceiptFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// A fault of a line.
    public enum Reason: Error, Sendable, Hashable, CustomStringConvertible {
        /// It is not JSON, no object, or names a member twice.
        case malformed
        /// It has another version than this package knows.
        case unknownVersion
        /// A member is missing or has another form.
        case unreadableMember(String)
        /// The digest in it is not that of the line before: one of the two was changed, or a line between them is gone.
        case brokenChain
        /// Its number does not follow that of the entry before.
        case wrongNumber
        /// It is the outcome of an intent, or completes a question, that is not there or has its outcome already.
        case outcomeOfNothing
        /// The personal data are not those that were recorded.
        case personalDataChanged
        /// The signature is not of the lines before, or by another key than the activation's.
        case wrongSignature
        /// The file ends within the line, and is not the last one.
        case incomplete

        /// The reason in a sentence.
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

    /// File, line and reason.
    public var description: String { "\(self.file):\(self.line): \(self.reason)" }
}
