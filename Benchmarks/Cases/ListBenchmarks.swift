import Foundation
import MobileToken
import MobileTokenScreens

/// Lists of operations: reading them, comparing them, and watching their deadlines.
let listBenchmarks: [Benchmark] = [
    Benchmark(
        "decode.list.1000",
        "a list of 1000 operations, every field typed",
        unit: .microseconds,
        goals: [.atMost(16_000)]
    ) {
        let answer = OperationFixture.answer(count: 1000)
        let data = Data(answer)
        return Scenario(
            Subject { try OperationList(response: answer) },
            baselines: [Subject("JSONDecoder") { try JSONDecoder.answers.decode(PlainAnswer.self, from: data) }]
        )
    },

    Benchmark(
        "poll.unchanged.1000",
        "an answer that equals the last but for the server's time",
        unit: .microseconds,
        goals: [.atMost(600)]
    ) {
        let (_, comparison) = try OperationList.read(OperationFixture.answer(count: 1000, second: 0))
        let next = OperationFixture.answer(count: 1000, second: 7)
        try check(comparison.match(next) != nil)
        let data = Data(next)
        return Scenario(
            Subject { comparison.match(next) },
            baselines: [Subject("JSONDecoder") { try JSONDecoder.answers.decode(PlainAnswer.self, from: data) }]
        )
    },

    // A server lists at most 100 operations.
    replacing("list.replace.100", count: 100, atMost: 60),
    // One kind of queue for all deadlines is worth more than the speed of thousands.
    watching("watcher.add.1000", count: 1000, atMost: 2000),
    watching("watcher.add.5000", count: 5000, atMost: 15_000),
    watching("watcher.add.100000", count: 100_000, atMost: 500_000),
]

/// A list replaced by the next, which lacks 1 % of it and has 1 % new, and back again by turns.
private func replacing(_ name: String, count: Int, atMost limit: Double) -> Benchmark {
    Benchmark(name, "1 % new, 1 % gone", unit: .microseconds, goals: [.atMost(limit)]) {
        let change = count / 100
        let (first, _) = try OperationList.read(OperationFixture.answer(0..<count))
        let (second, _) = try OperationList.read(OperationFixture.answer(change..<(count + change)))
        let lists = [first.operations, second.operations]
        let now = Date.now
        return Scenario(
            Subject(repeating: { repetitions in
                var state = OperationListState()
                let first = state.beginFetch()
                blackHole(state.apply(lists[1], by: first, at: now))
                for number in 0..<repetitions {
                    let fetch = state.beginFetch()
                    blackHole(state.apply(lists[number % 2], by: fetch, at: now))
                }
            })
        )
    }
}

/// Operations added to an empty watcher, and the same again.
private func watching(_ name: String, count: Int, atMost limit: Double) -> Benchmark {
    Benchmark(name, "added to a watcher, and the same again", unit: .microseconds, goals: [.atMost(limit)]) {
        let operations = try OperationFixture.operations(count: count).shuffled()
        return Scenario(
            Subject(repeating: { repetitions in
                for _ in 0..<repetitions {
                    let watcher = ExpirationWatcher(serverDate: { .distantPast })
                    await watcher.add(operations)
                    await watcher.add(operations)
                    try check(await watcher.count == operations.count)
                }
            })
        )
    }
}
