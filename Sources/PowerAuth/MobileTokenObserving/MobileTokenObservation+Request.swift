public import MobileTokenErrors
import Synchronization

extension MobileTokenObservation {
    /// One request to the server.
    public struct Request: Sendable {
        /// Identifies the request in its start and end events; unique in the process.
        public let id: UInt64
        /// The activation of the request; `nil` if there is none, such as while activating.
        public let activationID: String?
        /// The path below the base URL.
        public let path: String

        package init(id: UInt64, activationID: String?, path: String) {
            self.id = id
            self.activationID = activationID
            self.path = path
        }

        /// Creates a request with the next identifier.
        package init(of activationID: String?, to path: String) {
            self.init(id: Self.count.add(1, ordering: .relaxed).newValue, activationID: activationID, path: path)
        }

        private static let count = Atomic<UInt64>(0)
    }
}

extension MobileTokenObservation.Request {
    /// The end of a request.
    public struct Result: Sendable {
        /// The outcome.
        public let outcome: Outcome
        /// The HTTP status; `nil` without a complete response.
        public let httpStatus: Int?
        /// The error; `nil` after success and cancellation.
        public let error: MobileTokenError?
        /// The time from sending to the complete response.
        public let duration: Duration

        package init(_ outcome: Outcome, httpStatus: Int?, error: MobileTokenError? = nil, duration: Duration) {
            self.outcome = outcome
            self.httpStatus = httpStatus
            self.error = error
            self.duration = duration
        }

        package init(_ error: any Error, duration: Duration) {
            guard let error = error as? MobileTokenError else {
                self.init(.canceled, httpStatus: nil, duration: duration)
                return
            }
            let outcome = error.isServersRefusal ? Outcome.refused : .failed
            self.init(outcome, httpStatus: error.httpStatus, error: error, duration: duration)
        }
    }

    /// The outcome of a request. A struct, so that a new outcome breaks no `switch`.
    public struct Outcome: Sendable, Hashable, CustomStringConvertible {
        /// The name of the outcome.
        public let description: String

        /// The response reports success. Its content is read afterwards.
        public static let succeeded = Self(description: "succeeded")
        /// The server refused with a code in its own envelope and did not carry out the request.
        public static let refused = Self(description: "refused")
        /// The server gave no verdict: the response was incomplete, a 5xx, or a proxy's page with any status.
        public static let failed = Self(description: "failed")
        /// The caller canceled the request.
        public static let canceled = Self(description: "canceled")
    }
}

extension MobileTokenObservation {
    /// A repeated request.
    public struct Retry: Sendable {
        /// The activation of the request; `nil` if there is none.
        public let activationID: String?
        /// The path below the base URL.
        public let path: String
        /// The cause that was fixed.
        public let reason: MobileTokenObservation.RetryReason

        package init(activationID: String?, path: String, reason: MobileTokenObservation.RetryReason) {
            self.activationID = activationID
            self.path = path
            self.reason = reason
        }
    }
}

extension MobileTokenObservation {
    /// The reason why a request is repeated.
    public enum RetryReason: String, Sendable, Hashable {
        /// The server's counter was ahead; the client has moved forward.
        case counterMoved
        /// The server no longer knew the temporary encryption key; a new one was fetched.
        case temporaryKeyRenewed
        /// The server no longer accepted the token; a new one was created.
        case tokenRenewed
    }
}
