import Foundation
import MobileToken

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
            Subject { try OperationList(parsing: answer) },
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

    replacing("list.replace.1000", count: 1000, atMost: 108),
    replacing("list.replace.10000", count: 10_000, atMost: 1358),
    watching("watcher.add.1000", count: 1000, atMost: 1000),
    watching("watcher.add.5000", count: 5000, atMost: 6000),
    watching("watcher.add.100000", count: 100_000, atMost: 150_000),
]

/// A list replaced by one that lacks 1 % and has 1 % new, and back again by turns.
private func replacing(_ name: String, count: Int, atMost limit: Double) -> Benchmark {
    Benchmark(name, "1 % new, 1 % gone", unit: .microseconds, goals: [.atMost(limit)]) {
        let change = count / 100
        let all = try OperationFixture.operations(count: count + change)
        let lists = [Array(all[..<count]), Array(all[change...])]
        let now = Date.now
        return Scenario(
            Subject(repeating: { repetitions in
                var state = OperationListState()
                let first = state.fetchBegan()
                blackHole(state.fetched(lists[1], by: first, at: now))
                for number in 0..<repetitions {
                    let fetch = state.fetchBegan()
                    blackHole(state.fetched(lists[number % 2], by: fetch, at: now))
                }
            })
        )
    }
}

/// Operations added to an empty queue of deadlines, and the same again.
private func watching(_ name: String, count: Int, atMost limit: Double) -> Benchmark {
    Benchmark(name, "added to a watcher, and the same again", unit: .microseconds, goals: [.atMost(limit)]) {
        let operations = try OperationFixture.operations(count: count).shuffled()
        return Scenario(
            Subject {
                var queue = ExpirationQueue()
                queue.add(operations)
                queue.add(operations)
                return queue.count
            }
        )
    }
}

/// Operations as a server sends them.
private enum OperationFixture {
    static func answer(count: Int, second: Int = 0) -> [UInt8] {
        let operations = (0..<count).map(self.json(number:)).joined(separator: ",")
        let time = "2026-01-01T00:00:0\(second).000+0000"
        return Array(#"{"status":"OK","responseObject":[\#(operations)],"currentTimestamp":"\#(time)"}"#.utf8)
    }

    static func operations(count: Int) throws -> [UserOperation] {
        try (0..<count).map { try UserOperation(parsing: Array(self.json(number: $0).utf8)) }
    }

    private static func json(number: Int) -> String {
        let id = "8eebd926-40d4-4214-8208-\(100_000_000_000 + number)"
        let (minute, second) = (10 + number / 60 % 50, 10 + number % 50)
        return """
            {"id":"\(id)","name":"authorize_payment","data":"A1*A\(number)CZK*Q238400856/0300**D20260629*NUtility Bill",\
            "status":"PENDING","operationCreated":"2026-01-01T10:\(minute):\(second).000+0000",\
            "operationExpires":"2026-01-01T11:\(minute):\(second).123+0000",\
            "allowedSignatureType":{"type":"2FA","variants":["possession_knowledge","possession_biometry"]},\
            "formData":{"title":"Confirm Payment","message":"Hello, please confirm payment no. \(number)","attributes":[\
            {"type":"AMOUNT","id":"operation.amount","label":"Amount","amount":\(number).5,"currency":"CZK",\
            "amountFormatted":"\(number),50","currencyFormatted":"Kč"},\
            {"type":"KEY_VALUE","id":"operation.account","label":"To Account","value":"238400856/0300"},\
            {"type":"NOTE","id":"operation.note","label":"Note","note":"Utility Bill Payment, invoice \(number)"}]}}
            """
    }
}

/// The same, typed plainly for Foundation's decoder.
private struct PlainAnswer: Decodable {
    struct Operation: Decodable {
        struct SignatureType: Decodable {
            let type: String
            let variants: [String]
        }

        struct Form: Decodable {
            struct Attribute: Decodable {
                let type: String
                let id: String
                let label: String
                let amount: Decimal?
                let currency: String?
                let amountFormatted: String?
                let currencyFormatted: String?
                let value: String?
                let note: String?
            }

            let title: String
            let message: String
            let attributes: [Attribute]
        }

        let id: String
        let name: String
        let data: String
        let status: String
        let operationCreated: Date
        let operationExpires: Date
        let allowedSignatureType: SignatureType
        let formData: Form
    }

    let status: String
    let responseObject: [Operation]
    let currentTimestamp: Date
}

extension JSONDecoder {
    /// With the quickest parser of dates that Foundation has.
    fileprivate static var answers: JSONDecoder {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            try style.parse(decoder.singleValueContainer().decode(String.self))
        }
        return decoder
    }
}
