/// The events that a ``MobileTokenObserver`` is told of.
public enum Observed {}

extension Observed {
    /// A signature that was made. Neither its value nor the counter's is told.
    public struct Signature: Sendable {
        /// The activation that signed.
        public let activationID: String
        /// The factors, as the protocol names them: `possession`, `possession_knowledge`.
        public let factors: String
        /// The path that it is sent to; `nil` for one that a person carries to the server.
        public let path: String?
        /// The distance of the counter, with this signature, from the last value that the server is known to have followed: 1 when all is well.
        ///
        /// It grows with signatures whose fate is not known, such as those made offline.
        public let counterDistance: UInt64

        package init(activationID: String, factors: String, path: String?, counterDistance: UInt64) {
            self.activationID = activationID
            self.factors = factors
            self.path = path
            self.counterDistance = counterDistance
        }
    }
}
