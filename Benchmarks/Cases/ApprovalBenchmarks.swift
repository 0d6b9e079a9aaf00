import Foundation
import MobileToken
import MobileTokenEmulator

/// An approval from end to end: the counter on the disk before the signature, the emulator verifying it.
let approvalBenchmarks: [Benchmark] = [
    Benchmark("approve.loopback", "an approval with two factors, the factor unlocked, the counter stored durably") {
        settings in
        let emulator = try await Emulator.start()
        let folder = FileManager.default.temporaryDirectory.appending(path: "approve-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = MobileTokenClient.Configuration()
        configuration.store = SQLiteActivationStore(path: folder.appending(path: "activations.sqlite").path)
        let client = try MobileTokenClient(
            baseURL: emulator.baseURL,
            sdkConfiguration: emulator.sdkConfiguration,
            configuration: configuration
        )
        let registration = try await emulator.cloud.register(userID: "alice")
        let activation = try await client.activate(code: registration.activationQRCode, password: "1234")
        try await emulator.cloud.commit(registration.id)
        let factor = try await activation.unlockKnowledge(password: "1234")
        let service = OperationsService(activation: activation)
        var times: [Double] = []
        for number in 0..<(settings.isQuick ? 60 : 300) {
            let id = try await emulator.cloud.createOperation("login", userID: "alice").id
            let operation = try await service.detail(id: id)
            let start = ContinuousClock.now
            try await service.authorize(operation, with: .possession(knowledge: factor))
            // The first ones pay for connections and for the time synchronisation.
            if number >= 10 { times.append((ContinuousClock.now - start) / .milliseconds(1)) }
        }
        await client.shutdown()
        await emulator.stop()
        return [
            Row(name: "approve.loopback", unit: .milliseconds, figure: Figure(samples: times), goals: [.atMost(3)])
        ]
    }
]
