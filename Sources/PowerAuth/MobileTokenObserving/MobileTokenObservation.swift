/// The events of a ``MobileTokenObserver``.
public enum MobileTokenObservation {}

extension MobileTokenObservation {
    /// A signature, without its value and the counter's.
    public struct Signature: Sendable {
        /// The signing activation.
        public let activationID: String
        /// The factors in the protocol's names: `possession`, `possession_knowledge`.
        public let factors: String
        /// The request path; `nil` for an offline signature.
        public let path: String?
        /// The number of counter values, including this one, since the last value that the server is known to have followed.
        /// Normally 1; it grows with signatures of unknown outcome, such as offline ones.
        public let counterDistance: UInt64

        package init(activationID: String, factors: String, path: String?, counterDistance: UInt64) {
            self.activationID = activationID
            self.factors = factors
            self.path = path
            self.counterDistance = counterDistance
        }
    }
}
