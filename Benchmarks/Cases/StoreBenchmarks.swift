import Foundation
import PowerAuth
import PowerAuthProtocol

/// The cost of moving counters durably, for one activation at a time and for many at once.
let storeBenchmarks: [Benchmark] = [
    Benchmark(
        "store.update.parallel",
        "32 activations at once move their counters durably, sharing commits",
        unit: .perSecond,
        goals: [.atLeast(2, timesBaseline: "one at a time")]
    ) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID().uuidString)")
        let store = ActivationStore.sqlite(path: folder.appending(path: "activations.sqlite").path)
        let source = try await StoredActivations(count: 32)
        for id in source.ids {
            try await store.insert(try unwrap(try await source.store.record(of: id)))
        }
        let ids = source.ids
        let atOnce = Subject(
            "32 at once",
            repeating: { count in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (number, id) in ids.enumerated() {
                        let share = count / ids.count + (number < count % ids.count ? 1 : 0)
                        group.addTask {
                            for _ in 0..<share { try await store.update(id) { $0.counter = $0.counter.next() } }
                        }
                    }
                    try await group.waitForAll()
                }
            }
        )
        let oneAtATime = Subject(
            "one at a time",
            repeating: { count in
                for number in 0..<count {
                    try await store.update(ids[number % ids.count]) { $0.counter = $0.counter.next() }
                }
            }
        )
        return Scenario(atOnce, baselines: [oneAtATime]) {
            await store.close()
            try? FileManager.default.removeItem(at: folder)
        }
    },
    Benchmark(
        "store.receipt",
        "a counter moves durably with the intent of a decision, and its outcome follows",
        unit: .perSecond,
        goals: [.atLeast(0.7, timesBaseline: "the counter alone")]
    ) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID().uuidString)")
        let store = ActivationStore.sqlite(path: folder.appending(path: "activations.sqlite").path)
        let source = try await StoredActivations(count: 1)
        let id = try unwrap(source.ids.first)
        try await store.insert(try unwrap(try await source.store.record(of: id)))
        let intent = DecisionIntent(
            activationID: id,
            operationID: "37b9bb5c-6f6c-4a5c-b9c5-5b21f6d3a1ce",
            verdict: .approve,
            policy: DecisionIntent.Policy(name: "small payments", version: "7f3a"),
            isComplete: true,
            factors: .possessionKnowledge,
            shown: [UInt8](repeating: UInt8(ascii: "x"), count: 1_000),
            signed: "A1*A100CZK*ICZ2730300000001165254011"
        )
        let outcome = DecisionOutcome(.accepted, localDate: Date(), serverDate: Date())
        let recorded = Subject(
            "with its receipt",
            repeating: { count in
                for _ in 0..<count {
                    let moves = try await store.update(id, recording: intent) { record in
                        record.counter = record.counter.next()
                        return record.counterMoves
                    }
                    try await store.record(outcome, ofMove: moves, of: id)
                }
            }
        )
        let alone = Subject(
            "the counter alone",
            repeating: { count in
                for _ in 0..<count { try await store.update(id) { $0.counter = $0.counter.next() } }
            }
        )
        return Scenario(recorded, baselines: [alone]) {
            await store.close()
            try? FileManager.default.removeItem(at: folder)
        }
    },
]
