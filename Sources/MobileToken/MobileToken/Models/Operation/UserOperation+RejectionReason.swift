extension UserOperation {
    /// The reason for rejecting an operation.
    ///
    /// Servers accept other strings too: `UserOperation.RejectionReason("POSSIBLE_FRAUD")`.
    public struct RejectionReason: RawRepresentable, Sendable, Hashable, Codable, ExpressibleByStringLiteral {
        /// The string that is sent.
        public let rawValue: String

        /// No reason given.
        public static let unknown = Self("UNKNOWN")
        /// The data differ from what the person expected.
        public static let incorrectData = Self("INCORRECT_DATA")
        /// The person did not start this operation.
        public static let unexpectedOperation = Self("UNEXPECTED_OPERATION")
        /// The person declined at a pre-approval screen.
        public static let preApproval = Self("PREAPPROVAL")

        /// Creates a reason from a server's own string.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Creates a reason from a server's own string.
        public init(stringLiteral value: String) { self.rawValue = value }
    }
}
