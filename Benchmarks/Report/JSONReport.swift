import Foundation

/// The report for machines: every sample, so that others can draw their own conclusions.
struct JSONReport: Codable {
    struct Entry: Codable {
        struct Baseline: Codable {
            let name: String
            let median: Double
            let ratio: Double
            let processorNanoseconds: Double?
            let allocations: Double?
            let samples: [Double]
        }

        struct Goal: Codable {
            let text: String
            let isMet: Bool?
        }

        let name: String
        let detail: String?
        let unit: String
        let median: Double
        let spread: Double
        let processorNanoseconds: Double?
        let samples: [Double]
        let baselines: [Baseline]
        let allocations: Double?
        let allocatedBytes: Double?
        let goals: [Goal]
        let size: Int?

        var title: String { Row.title(self.name, self.detail) }
    }

    let machine: Machine
    let date: String
    let isQuick: Bool
    let cases: [Entry]

    init(rows: [Row], machine: Machine, isQuick: Bool) {
        self.machine = machine
        self.date = Date.now.formatted(.iso8601)
        self.isQuick = isQuick
        self.cases = rows.map { row in
            Entry(
                name: row.name,
                detail: row.detail,
                unit: row.unit.rawValue,
                median: row.figure.median,
                spread: row.figure.spread,
                processorNanoseconds: row.processorTime,
                samples: row.figure.samples,
                baselines: row.baselines.map {
                    Entry.Baseline(
                        name: $0.name,
                        median: $0.figure.median,
                        ratio: row.ratio(to: $0),
                        processorNanoseconds: $0.processorTime,
                        allocations: $0.allocations,
                        samples: $0.figure.samples
                    )
                },
                allocations: row.allocations,
                allocatedBytes: row.allocatedBytes,
                goals: row.goals.map { Entry.Goal(text: $0.text(in: row.unit), isMet: $0.isMet(by: row)) },
                size: row.size
            )
        }
    }

    /// Reads an earlier report.
    init(file: String) throws {
        let data = try Data(contentsOf: URL(fileURLWithPath: file))
        self = try JSONDecoder().decode(Self.self, from: data)
    }

    var data: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return try encoder.encode(self)
        }
    }
}

/// The machine that the figures come from.
struct Machine: Codable, Equatable, CustomStringConvertible {
    let processor: String
    let cores: Int
    let system: String
    let build: String

    static var current: Self {
        let information = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = information.split(separator: "\n").first { $0.hasPrefix("model name") }
        #if DEBUG
            let build = "debug"
        #else
            let build = "release"
        #endif
        return Self(
            processor: model?.split(separator: ":").last?.trimmingCharacters(in: .whitespaces) ?? "unknown processor",
            cores: ProcessInfo.processInfo.activeProcessorCount,
            system: ProcessInfo.processInfo.operatingSystemVersionString,
            build: build
        )
    }

    var description: String { "\(self.processor), \(self.cores) cores, \(self.system), \(self.build) build" }
}
