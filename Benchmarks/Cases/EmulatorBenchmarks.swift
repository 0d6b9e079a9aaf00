import Foundation
import HTTPClientTransport
import MobileToken
import Synchronization

/// The load that the development server bears.
let emulatorBenchmarks: [Benchmark] = [
    Benchmark(
        "emulator.approve",
        "approvals of 100 activations verified by the development server, in memory, signed beforehand, 32 connections"
    ) { settings in
        let recorder = try ApprovalRecorder()
        let server = try StaticServerProcess()
        defer { server.stop() }
        let rows = try await withBank(transport: recorder) { bank in
            let devices = try await bank.devices(100)
            let factors = try await bank.unlocked(devices)
            var (rates, serverTimes, driverTimes): ([Double], [Double], [Double]) = ([], [], [])
            var (baseRates, baseTimes): ([Double], [Double]) = ([], [])
            for _ in 0..<settings.rounds(quick: 3, thorough: 7) {
                try await bank.offer(20, to: devices)
                let lists = try await inParallelMap(devices) { try await $0.operations.operations() }
                // The operations approved before are gone from the server's lists, or there would be more.
                try check(lists.allSatisfy { $0.count == 20 })
                _ = try await inParallelMap(Array(devices.indices)) { index in
                    for operation in lists[index] {
                        try await devices[index].operations.authorize(
                            operation,
                            with: .possessionAndKnowledge(unlocked: factors[index])
                        )
                    }
                }
                let approvals = recorder.take(by: devices.map(\.activation.activationID))
                let count = Double(approvals.joined().count)
                try check(count == 2000)
                let before = try bank.emulator.processorNanoseconds
                let ours = try await replay(approvals, to: bank.emulator.baseURL)
                serverTimes.append((try bank.emulator.processorNanoseconds - before) / count)
                rates.append(count / (ours.duration / .seconds(1)))
                driverTimes.append(ours.processorNanoseconds / count)
                let bare = try await replay(approvals, to: server.baseURL)
                baseRates.append(count / (bare.duration / .seconds(1)))
                baseTimes.append(bare.processorNanoseconds / count)
            }
            return [
                Row(
                    name: "emulator.approve",
                    unit: .perSecond,
                    figure: Figure(samples: rates),
                    processorTime: Figure(samples: driverTimes).median,
                    baselines: [
                        Row.Baseline(
                            name: "a server that verifies nothing",
                            figure: Figure(samples: baseRates),
                            processorTime: Figure(samples: baseTimes).median
                        )
                    ],
                    goals: [.noLess(than: 3_000)]
                ),
                Row(
                    name: "emulator.approve",
                    detail: "processor time of the server",
                    unit: .microseconds,
                    figure: Figure(samples: serverTimes.map { $0 / 1e3 }),
                    goals: [.atMost(666)]  // 3 000 a second on two cores
                ),
            ]
        }
        await recorder.shutdown()
        return rows
    }
]

/// Sends approvals, those of one activation in their order.
private func replay(
    _ approvals: [[HTTPRequest]],
    to baseURL: String
) async throws -> (duration: Duration, processorNanoseconds: Double) {
    let lanes = (0..<inFlight).map { lane in
        stride(from: lane, to: approvals.count, by: inFlight).flatMap { approvals[$0] }
    }
    let port = try unwrap(URL(string: baseURL)?.port.flatMap(UInt16.init(exactly:)))
    let result = Mutex<(Duration, Double)?>(nil)
    try await onThread {
        let replay = try RequestReplay(lanes, port: port)
        let (start, processorTime) = (ContinuousClock.now, Measurement.processorNanoseconds)
        try replay.run()
        let figures = (ContinuousClock.now - start, Measurement.processorNanoseconds - processorTime)
        result.withLock { $0 = figures }
    }
    return try unwrap(result.withLock { $0 })
}

/// Keeps approvals and answers them as if the server had; sends everything else.
private final class ApprovalRecorder: HTTPTransport {
    private let transport: CurlTransport
    private let approvals = Mutex<[HTTPRequest]>([])

    init() throws { self.transport = try CurlTransport() }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard request.url.hasSuffix("/operation/authorize") else { return try await self.transport.send(request) }
        self.approvals.withLock { $0.append(request) }
        let headers: HTTPHeaders = ["Content-Type": "application/json"]
        return HTTPResponse(status: 200, headers: headers, body: Array(#"{"status":"OK"}"#.utf8))
    }

    /// The approvals of each activation, in their order.
    func take(by activations: [String]) -> [[HTTPRequest]] {
        let approvals = self.approvals.withLock { approvals in
            defer { approvals = [] }
            return approvals
        }
        return activations.map { id in
            approvals.filter { $0.headers["X-PowerAuth-Authorization"]?.contains(id) == true }
        }
    }

    func shutdown() async { await self.transport.shutdown() }
}
