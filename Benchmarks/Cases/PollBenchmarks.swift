import MobileToken
import PowerAuthCrypto
import PowerAuthProtocol

/// A poll from end to end: the header of the token, the request, and an answer that brings nothing new.
let pollBenchmarks: [Benchmark] = [
    Benchmark(
        "poll.cycle",
        "the list of 10 operations fetched again, unchanged, 32 services at a time",
        unit: .perSecond,
        goals: [.atLeast(0.6, timesBaseline: "libcurl multi")]
    ) {
        let answer = OperationFixture.answer(count: 10)
        let server = try StaticServerProcess([answer])
        let activations = try await StoredActivations(count: inFlight)
        let client = try activations.client(of: server)
        var services: [OperationsService] = []
        for id in activations.ids {
            let service = client.makeOperationsService(for: try await client.activation(id: id))
            try check(try await service.operations().count == 10)
            services.append(service)
        }
        let bare = BareCurl(url: server.url, headers: try pollHeaders(), body: Array("{}".utf8), inFlight: inFlight)
        return Scenario(
            Subject(repeating: { [services] count in
                try await inParallel(count) { number in
                    try check(try await services[number].operations().count == 10)
                }
            }),
            baselines: [
                Subject(
                    "libcurl multi",
                    repeating: { count in
                        try await onThread { try bare.run(count, expecting: answer.count) }
                    }
                )
            ],
            tearDown: {
                await client.shutdown()
                server.stop()
            }
        )
    }
]

/// The header lines of a poll, with a token that never changes.
private func pollHeaders() throws -> [String] {
    let token = TokenHeader(
        tokenID: "f48ae8c3-3e0d-4b0a-8b8d-100000000000",
        secret: SecureRandom.secret(16),
        nonce: SecureRandom.bytes(16),
        timestamp: 1_790_000_000_000,
        version: .v3_3
    )
    return [
        "Accept-Language: en", "\(TokenHeader.name): \(token.value)", "Content-Type: application/json",
        "Accept: application/json", "User-Agent: swift-mobile-token/1.0.0 (Linux 6.1.0)",
    ]
}
