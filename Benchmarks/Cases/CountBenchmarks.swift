import CAllocations
import MobileToken

/// The allocations of a poll and of an approval. Counts do not depend on the machine, so that one which grows fails wherever it is measured,
/// also in a debug build.
let countBenchmarks: [Benchmark] = [
    Benchmark("counts.poll", "allocations of a poll that finds nothing new, one at a time") { _ in
        let server = try StaticServerProcess([OperationFixture.answer(count: 10)])
        defer { server.stop() }
        let activations = try await StoredActivations(count: 1)
        let client = try activations.client(of: server)
        let service = client.makeOperationsService(for: try await client.activation(id: activations.ids[0]))
        let count = try await allocations(warmingUp: 20, counting: 70) { _ in
            try check(try await service.operations().count == 10)
        }
        await client.shutdown()
        return [try row("counts.poll", count, atMost: AllocationBounds.poll)]
    },
    Benchmark("counts.approval", "allocations of an approval, its receipt stored durably, one at a time") { _ in
        try await withBank { bank in
            let devices = try await bank.devices(1)
            let factor = try await bank.unlocked(devices)[0]
            try await bank.offer(80, to: devices)
            let service = devices[0].operations
            let operations = try await service.operations()
            let count = try await allocations(warmingUp: 20, counting: 20) { number in
                try await service.authorize(operations[number], with: .possessionAndKnowledge(unlocked: factor))
            }
            return [try row("counts.approval", count, atMost: AllocationBounds.approval)]
        }
    },
]

/// A tenth above what was reached.
private enum AllocationBounds {
    #if DEBUG
        static let poll = 570.0
        static let approval = 1_520.0
    #else
        static let poll = 105.0
        static let approval = 510.0
    #endif
}

/// Returns the allocations of one repetition on all threads: the least of three batches, so that work beside them does not count. The first
/// repetitions are not included.
private func allocations(warmingUp: Int, counting count: Int, _ body: (Int) async throws -> Void) async throws -> Double
{
    for number in 0..<warmingUp { try await body(number) }
    var least = Int.max
    for batch in 0..<3 {
        CAllocations_start()
        do {
            for number in 0..<count { try await body(warmingUp + batch * count + number) }
        } catch {
            _ = CAllocations_stop()
            throw error
        }
        least = min(least, CAllocations_stop())
    }
    return Double(least) / Double(count)
}

private struct TooMany: Error, CustomStringConvertible {
    let description: String
}

/// - Throws: ``TooMany`` above the bound.
private func row(_ name: String, _ count: Double, atMost bound: Double) throws -> Row {
    guard count <= bound else { throw TooMany(description: "\(count) allocations, where \(bound) were enough") }
    return Row(name: name, detail: "allocations of one", unit: .count, figure: Figure(count), goals: [.atMost(bound)])
}
