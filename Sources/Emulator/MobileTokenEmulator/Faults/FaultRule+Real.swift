extension FaultRule {
    /// The faults of real servers and intermediaries, each with a low probability, for long-running tests.
    ///
    /// A server that waits for its database; a proxy that gives up, repeats or responds itself; broken connections; an outage of
    /// a part.
    public static let real: [Self] = [
        Self("real: held", 0.02, .init(hold: 40)),
        Self("real: late", 0.01, .init(late: 5)),
        Self("real: cut and late", 0.01, .init(reset: .before, late: 5)),
        Self("real: repeated", 0.02, .init(repeat: .second)),
        Self("real: lost request", 0.01, .init(reset: .before)),
        Self("real: lost answer", 0.01, .init(reset: .after)),
        Self("real: page", 0.005, .init(page: .init(.before, status: 403))),
        Self("real: page after", 0.005, .init(page: .init(.after, status: 403))),
        Self("real: database down", 0.005, .init(status: 400, code: "ERR_ACTIVATION"), path: "/pa/**"),
        Self("real: server behind down", 0.005, .init(status: 401, code: "POWERAUTH_AUTH_FAIL"), path: "/api/**"),
        Self(
            "real: broken row in the list",
            0.003,
            .init(status: 500, code: "ERROR_GENERIC"),
            path: Self.operations + "list"
        ),
        Self(
            "real: broken row in the history",
            0.003,
            .init(status: 500, code: "ERROR_GENERIC"),
            path: Self.operations + "history"
        ),
        Self("real: busy", 0.01, .init(status: 503, retryAfter: 2)),
        Self("real: callbacks in any order", 0.3, .init(late: 5), path: "*://**"),
        Self("real: network", 1, .init(delay: 0.002, jitter: 0.02)),
    ]

    private static let operations = "/api/auth/token/app/operation/"

    private init(_ name: String, _ probability: Double, _ effect: Effect, path: String? = nil) {
        let isLikely = probability < 1
        self.init(name: name, match: .init(path: path, probability: isLikely ? probability : nil), effect: effect)
    }
}
