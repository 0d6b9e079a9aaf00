import EmulatorBackend
import EmulatorHTTP

/// The reason a development server could not start, or could not do as requested.
public struct EmulatorError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. A struct, so that adding a kind breaks no `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's name.
        public let description: String

        /// Another process listens on the configured port.
        public static let addressInUse = Self(description: "addressInUse")
        /// The configured host or port cannot be bound for another reason.
        public static let cannotListen = Self(description: "cannotListen")
        /// A part of the configuration, such as a template, does not decode.
        public static let invalidConfiguration = Self(description: "invalidConfiguration")
        /// The document to import is not an exported state.
        public static let invalidDocument = Self(description: "invalidDocument")
        /// There is no such object, such as an activation.
        public static let notFound = Self(description: "notFound")
        /// The object's state does not allow it.
        public static let conflict = Self(description: "conflict")
        /// The server refused the request; the message is its own.
        public static let refused = Self(description: "refused")
        /// The server has no room for more objects of this kind.
        public static let capacityExceeded = Self(description: "capacityExceeded")
        /// The data file cannot be read or written.
        public static let storage = Self(description: "storage")
        /// The server still has work at the end of a wait; the message names it.
        public static let notSettled = Self(description: "notSettled")
    }

    /// The kind of failure.
    public let code: Code
    /// The message for a person.
    public let message: String
    /// The entry of the journal that tells why.
    var journalEntry: UInt64?

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the message.
    public var description: String { "\(self.code): \(self.message)" }
}

extension EmulatorError {
    /// The error for a refusal of the backend.
    init(_ refusal: Refusal) {
        switch refusal.status {
        case 404: self.init(.notFound, refusal.message)
        case 409: self.init(.conflict, refusal.message)
        default: self.init(.invalidDocument, refusal.message)
        }
    }

    init(_ error: ListeningError) {
        self.init(error.code == .addressInUse ? .addressInUse : .cannotListen, error.message)
    }
}
