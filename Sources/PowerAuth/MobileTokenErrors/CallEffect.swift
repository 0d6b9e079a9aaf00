/// The effect of a call at the server, which determines the meaning of a missing response.
package enum CallEffect: Sendable, Hashable {
    /// It only reads.
    case reads
    /// It may have changed something.
    case changes

    /// Determines the effect from the path. An application's own calls may change something.
    package init(path: String) {
        self = Self.readingCalls.contains { path.hasSuffix($0) } ? .reads : .changes
    }

    private static let readingCalls = [
        "/pa/v3/status", "/pa/v4/status", "/keystore/create", "/activation/status", "/activation/detail", "/user/info",
        "/config/application", "/config/activation", "/api/config/oidc", "/signature/validate", "/auth/validate",
        "/app/operation/list", "/app/operation/detail", "/app/operation/history",
        "/api/inbox/count", "/api/inbox/message/list", "/api/inbox/message/detail",
    ]

    /// The consequence of a failure with unknown outcome, as the end of a sentence.
    var consequence: String {
        switch self {
        case .reads: "the server could not be asked, try again later"
        case .changes: "it may have been carried out, look before you try again"
        }
    }
}
