import Foundation
import MobileToken

/// An approval from end to end: the counter on the disk before the signature, the emulator verifying it.
let approvalBenchmarks: [Benchmark] = [
    Benchmark("approve.loopback", "an approval with two factors, the factor unlocked, the counter stored durably") {
        settings in
        let emulator = try EmulatorProcess()
        let folder = FileManager.default.temporaryDirectory.appending(path: "approve-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = MobileTokenClient.Configuration()
        configuration.store = SQLiteActivationStore(path: folder.appending(path: "activations.sqlite").path)
        let client = try MobileTokenClient(
            baseURL: emulator.baseURL,
            sdkConfiguration: emulator.sdkConfiguration,
            configuration: configuration
        )
        let times: [Double]
        do {
            times = try await approve(settings.isQuick ? 60 : 300, client, emulator)
        } catch {
            await client.shutdown()
            await emulator.stop()
            throw error
        }
        await client.shutdown()
        await emulator.stop()
        let goals = [Goal.atMost(3)]
        return [Row(name: "approve.loopback", unit: .milliseconds, figure: Figure(samples: times), goals: goals)]
    }
]

/// Activates, and returns the milliseconds of each approval.
private func approve(
    _ count: Int,
    _ client: MobileTokenClient,
    _ emulator: EmulatorProcess
) async throws -> [Double] {
    let registration = try await emulator.control("registrations", ["userId": "alice"])
    let id = try unwrap(registration["registrationId"]?.string)
    let code = try unwrap(registration["activationQrCodeData"]?.string)
    let activation = try await client.activate(code: code, password: "1234")
    _ = try await emulator.control("registrations/\(id)/commit", [:])
    let factor = try await activation.unlockKnowledge(password: "1234")
    let service = client.operations(of: activation)
    var times: [Double] = []
    for number in 0..<count {
        let made = try await emulator.control("operations", ["userId": "alice", "template": "login"])
        let operation = try await service.detail(id: try unwrap(made["operationId"]?.string))
        let start = ContinuousClock.now
        try await service.authorize(operation, with: .possessionAndKnowledge(unlocked: factor))
        // The first ones pay for connections and for the time synchronisation.
        if number >= 10 { times.append((ContinuousClock.now - start) / .milliseconds(1)) }
    }
    return times
}
