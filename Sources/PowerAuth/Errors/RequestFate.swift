/// What is known of a request that failed.
package enum RequestFate: Sendable, Hashable {
    /// The server did not carry it out: it said so, or the request never left.
    case refused
    /// The server may have carried it out.
    case unknown
}

extension MobileTokenError {
    /// What this error says of the request that it ended.
    ///
    /// An error in the server, or in a proxy before it, may come after the work was done. So may one that comes in place of a
    /// response, unless there was no connection in the first place, and one that says that a server behind is silent.
    package var fate: RequestFate {
        if self.code == .remoteCommunicationFailed { return .unknown }
        if let httpStatus { return (400..<500).contains(httpStatus) && httpStatus != 408 ? .refused : .unknown }
        return switch self.code {
        case .connectionLost, .timeout, .networkUnknown, .invalidResponse: .unknown
        default: .refused
        }
    }
}
