public import MobileTokenEmulator

extension Emulator {
    /// Makes requests to a path fail while `body` runs. Other rules stay, and take precedence. A path that no request had is printed.
    ///
    /// ```swift
    /// try await emulator.withFault(.unavailable(retryAfter: 5), on: "/api/**") { … }
    /// ```
    @discardableResult
    public func withFault<Result>(
        _ effect: FaultRule.Effect,
        on path: String = "/**",
        first count: Int? = nil,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let name = "withFault \(UInt64.random(in: .min ... .max))"
        await self.faults.add(FaultRule(name: name, match: .init(path: path, first: count), effect: effect))
        do {
            let result = try await body()
            await self.endFault(named: name, on: path)
            return result
        } catch {
            await self.endFault(named: name, on: path)
            throw error
        }
    }

    private func endFault(named name: String, on path: String) async {
        let count = await self.faults.counts.first { $0.name == name }
        if count?.matched == 0 { print("No request has met the fault rule on \(path)") }
        await self.faults.remove(named: name)
    }
}

extension FaultRule.Effect {
    /// Returns the effect of a response with status 503, optionally with `Retry-After` in seconds.
    public static func unavailable(retryAfter: Int? = nil) -> Self { Self(status: 503, retryAfter: retryAfter) }
    /// The effect of a lost request: nothing changes, and the connection is reset.
    public static var lostRequest: Self { Self(reset: .before) }
    /// The effect of a lost response: the request is executed, and the connection is reset.
    public static var lostAnswer: Self { Self(reset: .after) }
}
