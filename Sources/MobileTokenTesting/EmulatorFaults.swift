public import MobileTokenEmulator

extension Emulator {
    /// Lets requests to a path fail while `body` runs. Other rules stay, and go first.
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
            await self.faults.remove(named: name)
            return result
        } catch {
            await self.faults.remove(named: name)
            throw error
        }
    }
}

extension FaultRule.Effect {
    /// 503, perhaps with the seconds after which to come back.
    public static func unavailable(retryAfter: Int? = nil) -> Self { Self(status: 503, retryAfter: retryAfter) }
    /// The request is lost on its way: nothing changes, and the connection is reset.
    public static var lostRequest: Self { Self(reset: .before) }
    /// The answer is lost on its way: the request did what it asked for, and the connection is reset.
    public static var lostAnswer: Self { Self(reset: .after) }
}
