import CAllocations
import Foundation
import MobileToken
import MobileTokenApprovals
import MobileTokenCloud

/// Asking for approvals: from the request to the act, and what an open question costs.
let askBenchmarks: [Benchmark] = [
    Benchmark(
        "ask.parallel",
        "questions asked, approved on 100 devices and acted on, the ledger, counters and receipts stored durably"
    ) { settings in
        try await withBank { bank in
            let devices = try await bank.devices(100)
            let factors = try await bank.unlocked(devices)
            // Whoever acts looks at once: everybody has decided by then, as a callback would tell.
            return try await withLedger { ledger in
                try await withDesk(at: bank.emulator, ledger, shortestPoll: .zero) { desk in
                    var (rates, processorTimes): ([Double], [Double]) = ([], [])
                    for round in 0..<settings.rounds(quick: 2, thorough: 5) {
                        let (start, processorTime) = (ContinuousClock.now, Measurement.processorNanoseconds)
                        let acts = try await inParallelMap(Array(devices.indices)) { index in
                            try await ask(10, round, devices[index], factors[index], desk)
                        }.reduce(0, +)
                        try check(acts == devices.count * 10)
                        rates.append(Double(acts) / ((ContinuousClock.now - start) / .seconds(1)))
                        processorTimes.append((Measurement.processorNanoseconds - processorTime) / Double(acts))
                    }
                    return [
                        Row(
                            name: "ask.parallel",
                            unit: .perSecond,
                            figure: Figure(samples: rates),
                            processorTime: Figure(samples: processorTimes).median,
                            goals: [.noLess(than: 800)]
                        )
                    ]
                }
            }
        }
    },
    Benchmark("desk.tickets.10000", "10000 open questions that one poller looks after") { settings in
        let count = settings.isQuick ? 1_000 : 10_000
        let emulator = try EmulatorProcess()
        do {
            let rows = try await withLedger { ledger in
                try await withDesk(at: emulator, ledger) { desk in try await askAll(count, desk) }
                // As after a restart, a desk takes up what is open, by the limit that it has by default.
                return try await withDesk(at: emulator, ledger, requestsPerSecond: 20) { desk in
                    try await lookAfter(count, desk)
                }
            }
            await emulator.stop()
            return rows
        } catch {
            await emulator.stop()
            throw error
        }
    },
]

private let template = ApprovalTemplate("bench-deploy", signs: "A9*N${version}*R${binding}")

/// Asks a device's person a number of questions, approves them on the device, and acts.
private func ask(
    _ count: Int,
    _ round: Int,
    _ device: Bank.Device,
    _ factor: Activation.Authentication.UnlockedFactor,
    _ desk: ApprovalDesk
) async throws -> Int {
    let requests = (0..<count).map { number in
        ApprovalRequest(
            id: "\(device.user)-\(round)-\(number)".replacing(" ", with: "-"),
            from: .user(device.user),
            template: template,
            parameters: ["version": .ascii("\(number)")],
            action: .bytes(Array("version \(number)".utf8)),
            expires: .seconds(300)
        )
    }
    for request in requests { _ = try await desk.ask(request) }
    for operation in try await device.operations.operations() {
        try await device.operations.authorize(operation, with: .possessionAndKnowledge(unlocked: factor))
    }
    var acts = 0
    for request in requests {
        acts += try await desk.perform(request) { approval in approval.action.isEmpty ? 0 : 1 }
    }
    return acts
}

private func askAll(_ count: Int, _ desk: ApprovalDesk) async throws {
    let lanes = 16
    try await inParallel(lanes) { lane in
        for number in stride(from: lane, to: count, by: lanes) {
            _ = try await desk.ask(
                ApprovalRequest(
                    id: "question-\(number)",
                    from: .user("user-\(number)"),
                    template: template,
                    parameters: ["version": .ascii("\(number)")],
                    action: .bytes(Array("version \(number)".utf8)),
                    expires: .seconds(3_600)
                )
            )
        }
    }
}

/// Measures an open question: its memory, and the processor time while a poller looks after it.
private func lookAfter(_ count: Int, _ desk: ApprovalDesk) async throws -> [Row] {
    try check(desk.health.open == count)
    let before = CAllocations_bytes_in_use()
    let running = Task { try await desk.run() }
    try await Task.sleep(for: .seconds(5))
    let bytes = max(0, CAllocations_bytes_in_use() - before) / count
    let (start, processorTime) = (ContinuousClock.now, Measurement.processorNanoseconds)
    try await Task.sleep(for: .seconds(10))
    let used = (Measurement.processorNanoseconds - processorTime) / ((ContinuousClock.now - start) / .seconds(1))
    try check(desk.health.open == count)
    running.cancel()
    _ = await running.result
    func row(_ detail: String, _ unit: Unit, _ value: Double, atMost limit: Double? = nil) -> Row {
        Row(
            name: "desk.tickets.10000",
            detail: detail,
            unit: unit,
            figure: Figure(value),
            goals: limit.map { [Goal.atMost($0)] } ?? [],
            size: count
        )
    }
    return [
        row("heap of an open question", .bytes, Double(bytes), atMost: 2_048),
        row("processor time a second, 20 requests a second", .milliseconds, used / 1e6),
    ]
}

/// Runs `body` with the path of a ledger that goes afterwards.
private func withLedger<Result>(_ body: (_ path: String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "ask-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
        at: folder,
        withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700]
    )
    defer { try? FileManager.default.removeItem(at: folder) }
    return try await body(folder.appending(path: "approvals.sqlite").path)
}

/// Runs `body` with a desk whose ledger is a durable file.
private func withDesk<Result>(
    at emulator: EmulatorProcess,
    _ ledger: String,
    requestsPerSecond: Double = 100_000,
    shortestPoll: Duration? = nil,
    _ body: (ApprovalDesk) async throws -> Result
) async throws -> Result {
    var cloudConfiguration = CloudClient.Configuration()
    cloudConfiguration.allowsInsecureHTTP = true
    let cloud = try CloudClient(
        baseURL: emulator.cloudURL,
        credentials: emulator.credentials,
        configuration: cloudConfiguration
    )
    var configuration = ApprovalDesk.Configuration()
    configuration.limits.questionInterval = .zero
    configuration.limits.openQuestions = 1_000
    configuration.limits.requestsPerSecond = requestsPerSecond
    if let shortestPoll { configuration.limits.shortestPoll = shortestPoll }
    let desk = try await ApprovalDesk(
        audience: "bench",
        cloud: cloud,
        ledger: .sqlite(path: ledger),
        configuration: configuration
    )
    return try await body(desk)
}
