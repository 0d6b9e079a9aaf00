import Synchronization

extension Observed {
    /// One request to the server, as an observer is told of it.
    public struct Request: Sendable {
        /// Joins the start of a request and its end; no two requests of the process share it.
        public let id: UInt64
        /// The activation that it is made for; `nil` where there is none, such as while activating.
        public let activationID: String?
        /// The path below the base URL.
        public let path: String

        package init(id: UInt64, activationID: String?, path: String) {
            self.id = id
            self.activationID = activationID
            self.path = path
        }

        /// Numbers one more request.
        init(of activationID: String?, to path: String) {
            self.init(id: Self.count.add(1, ordering: .relaxed).newValue, activationID: activationID, path: path)
        }

        private static let count = Atomic<UInt64>(0)
    }
}

extension Observed.Request {
    /// The end of a request.
    public struct Result: Sendable {
        /// The outcome.
        public let outcome: Outcome
        /// The HTTP status, or `nil` when there was no whole response.
        public let httpStatus: Int?
        /// The reason it did not succeed; `nil` when it did, or was canceled.
        public let error: MobileTokenError?
        /// The time from sending to the whole response.
        public let duration: Duration

        package init(_ outcome: Outcome, httpStatus: Int?, error: MobileTokenError? = nil, duration: Duration) {
            self.outcome = outcome
            self.httpStatus = httpStatus
            self.error = error
            self.duration = duration
        }

        /// Reads how a request failed.
        init(_ error: any Error, duration: Duration) {
            guard let error = error as? MobileTokenError else {
                self.init(.canceled, httpStatus: nil, duration: duration)
                return
            }
            let outcome = error.isServersRefusal ? Outcome.refused : .failed
            self.init(outcome, httpStatus: error.httpStatus, error: error, duration: duration)
        }
    }

    /// The outcome of a request. A struct, so that another one breaks nobody's `switch`.
    public struct Outcome: Sendable, Hashable, CustomStringConvertible {
        /// The name of the outcome.
        public let description: String

        /// The server carried it out, as far as its response says; what the response holds is read afterwards.
        public static let succeeded = Self(description: "succeeded")
        /// The server itself said no, by a code in its own envelope, and has not carried it out: what receipts call refused.
        public static let refused = Self(description: "refused")
        /// There was no word of the server's own: no whole response, a failure (5xx) of it or behind it, a proxy's page under whatever
        /// status.
        public static let failed = Self(description: "failed")
        /// The caller did not wait for it.
        public static let canceled = Self(description: "canceled")
    }
}

extension Observed {
    /// A request that is made once more.
    public struct Retry: Sendable {
        /// The activation that it is made for; `nil` where there is none.
        public let activationID: String?
        /// The path below the base URL.
        public let path: String
        /// The cause that was put right.
        public let reason: Observed.RetryReason

        package init(activationID: String?, path: String, reason: Observed.RetryReason) {
            self.activationID = activationID
            self.path = path
            self.reason = reason
        }
    }
}

extension Observed {
    /// The reason a request is sent once more.
    public enum RetryReason: String, Sendable, Hashable {
        /// The server had used counter values that the client had not; the client has moved forward.
        case counterMoved
        /// The server no longer knew the temporary encryption key; another was fetched.
        case temporaryKeyRenewed
        /// The server no longer accepted the token; another was created.
        case tokenRenewed
    }
}
