import Foundation
import Glibc

/// Two builds, measured by turns in one run: the machine's drift meets both alike.
///
/// Absolute figures of two days cannot be compared, and neither can those of two machines.
struct SideBySide {
    /// A result of one build: the medians of each of its runs.
    struct Result: Encodable {
        let unit: String
        let value: Double
        /// Operations in a second; `nil` where the case does not measure a time.
        let rate: Double?
        /// Per operation; `nil` where the case does not measure it.
        let processorNanoseconds: Double?
    }

    /// A count of either build. It does not depend on how busy the machine is.
    struct Count: Encodable {
        let before: Double?
        let now: Double?
    }

    /// A result that both builds have.
    struct Case: Encodable {
        let name: String
        let before: Result
        let now: Result
        /// Processor time of this build, divided by the other build's; the median of the rounds.
        let processorRatio: Double?
        let rateRatio: Double?
        /// Half the distance between the extreme rounds' ratios.
        let spread: Double
        let counts: [String: Count]

        /// The ratio up to which a build counts as no slower.
        static let tolerance = 1.05

        var isSlower: Bool { self.processorRatio.map { $0 > Self.tolerance + self.spread } ?? false }
    }

    private struct Report: Encodable {
        let machine: Machine
        let rounds: Int
        let comparison: [Case]
        let onlyBefore: [String]
        let onlyNow: [String]
    }

    /// A program that could not be run to its end.
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    let rounds: Int
    private(set) var cases: [Case] = []
    private(set) var onlyBefore: [String] = []
    private(set) var onlyNow: [String] = []
    /// The errors of cases that one of the builds could not measure.
    private(set) var failures: [String] = []

    var hasSlower: Bool { self.cases.contains(where: \.isSlower) }

    /// Measures each case of both builds in the order *before, now, now, before*, as many rounds as the options say.
    ///
    /// - Throws: ``Failed`` when a program cannot list its cases.
    init(with other: String, _ options: Options) throws {
        self.rounds = options.rounds
        let (before, now) = (Build(program: other), Build(program: CommandLine.arguments[0]))
        let names = (
            before: try before.caseNames().filter(options.includes), now: try now.caseNames().filter(options.includes)
        )
        self.onlyBefore = names.before.filter { !names.now.contains($0) }
        self.onlyNow = names.now.filter { !names.before.contains($0) }
        let common = names.now.filter { names.before.contains($0) }
        // A filter finds every name that contains it: one run measures these cases together.
        for name in common where !common.contains(where: { $0 != name && name.contains($0) }) {
            FileHandle.standardError.write(Data("comparing \(name)\n".utf8))
            do { try self.compare(name, before, now, options) } catch { self.failures.append("\(error)") }
        }
    }

    private mutating func compare(_ name: String, _ before: Build, _ now: Build, _ options: Options) throws {
        var rounds: [(before: Run, now: Run)] = []
        for _ in 0..<options.rounds {
            let first = try before.run(name, options)
            let middle = [try now.run(name, options), try now.run(name, options)]
            rounds.append((Run(mergedFrom: [first, try before.run(name, options)]), Run(mergedFrom: middle)))
        }
        self.add(rounds)
    }

    private mutating func add(_ rounds: [(before: Run, now: Run)]) {
        guard let first = rounds.first else { return }
        for title in first.now.order {
            let befores = rounds.compactMap { $0.before.entries[title] }
            let nows = rounds.compactMap { $0.now.entries[title] }
            guard befores.count == rounds.count, nows.count == rounds.count else {
                self.onlyNow.append(title)
                continue
            }
            self.cases.append(Case(title, befores, nows))
        }
        self.onlyBefore += first.before.order.filter { first.now.entries[$0] == nil }
    }
}

// MARK: - One build

extension SideBySide {
    fileprivate struct Build {
        let program: String

        func caseNames() throws -> [String] {
            let output = try self.output(of: ["--list"])
            return output.split(separator: "\n").compactMap { $0.split(separator: ":").first.map(String.init) }
        }

        /// Runs the cases with a name, and reads their report.
        func run(_ name: String, _ options: Options) throws -> Run {
            let file = FileManager.default.temporaryDirectory.appending(path: "bench-\(UUID().uuidString).json")
            defer { try? FileManager.default.removeItem(at: file) }
            let before = Self.contextSwitchesOfChildren
            _ = try self.output(of: ["--filter", name, "--json", file.path, options.thoroughness])
            let report = try JSONReport(file: file.path)
            return Run(report, contextSwitches: Self.contextSwitchesOfChildren - before)
        }

        private func output(of arguments: [String]) throws -> String {
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: self.program)
            process.arguments = arguments
            process.standardOutput = output
            try process.run()
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else {
                throw Failed(description: "\(self.program) \(arguments.joined(separator: " ")) failed")
            }
            return String(decoding: data, as: UTF8.self)
        }

        private static var contextSwitchesOfChildren: Double {
            var usage = rusage()
            getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
            return Double(usage.ru_nvcsw + usage.ru_nivcsw)
        }
    }

    /// The results of one run or several of one build, by their titles.
    fileprivate struct Run {
        struct Entry {
            let unit: Unit
            var values: [Double]
            var processorTimes: [Double]
            var counts: [String: [Double]]
        }

        private(set) var order: [String] = []
        private(set) var entries: [String: Entry] = [:]

        init(_ report: JSONReport, contextSwitches: Double) {
            for entry in report.cases {
                guard let unit = Unit(rawValue: entry.unit) else { continue }
                var counts = ["context switches of the run": [contextSwitches]]
                counts["allocations"] = entry.allocations.map { [$0] }
                counts["bytes allocated"] = entry.allocatedBytes.map { [$0] }
                self.order.append(entry.title)
                self.entries[entry.title] = Entry(
                    unit: unit,
                    values: [entry.median],
                    processorTimes: entry.processorNanoseconds.map { [$0] } ?? unit.processorTime(entry).map { [$0] }
                        ?? [],
                    counts: counts
                )
            }
        }

        init(mergedFrom runs: [Run]) {
            self.order = runs.first?.order ?? []
            for run in runs {
                self.entries.merge(run.entries) { first, second in
                    Entry(
                        unit: first.unit,
                        values: first.values + second.values,
                        processorTimes: first.processorTimes + second.processorTimes,
                        counts: first.counts.merging(second.counts, uniquingKeysWith: +)
                    )
                }
            }
        }
    }
}

extension Unit {
    /// The processor time of a result whose figure is one, such as "processor time of a poll".
    fileprivate func processorTime(_ entry: JSONReport.Entry) -> Double? {
        entry.title.contains("processor time") ? self.nanoseconds(entry.median) : nil
    }
}

extension SideBySide.Case {
    fileprivate init(_ title: String, _ before: [SideBySide.Run.Entry], _ now: [SideBySide.Run.Entry]) {
        func ratios(_ values: (SideBySide.Run.Entry) -> [Double]) -> Figure? {
            let ratios = zip(before, now).compactMap { before, now -> Double? in
                let (old, new) = (Figure(samples: values(before)).median, Figure(samples: values(now)).median)
                return old > 0 && new > 0 ? new / old : nil
            }
            return ratios.isEmpty ? nil : Figure(samples: ratios)
        }
        let processor = ratios(\.processorTimes)
        let rate = ratios { entry in entry.values.compactMap(entry.unit.rate) }
        self.name = title
        self.before = SideBySide.Result(before)
        self.now = SideBySide.Result(now)
        self.processorRatio = processor?.median
        self.rateRatio = rate?.median
        self.spread = (processor ?? rate)?.halfRange ?? 0
        var counts: [String: SideBySide.Count] = [:]
        for key in Set((before + now).flatMap(\.counts.keys)) {
            func median(_ entries: [SideBySide.Run.Entry]) -> Double? {
                let values = entries.flatMap { $0.counts[key] ?? [] }
                return values.isEmpty ? nil : Figure(samples: values).median
            }
            counts[key] = SideBySide.Count(before: median(before), now: median(now))
        }
        self.counts = counts
    }
}

extension SideBySide.Result {
    fileprivate init(_ entries: [SideBySide.Run.Entry]) {
        let processorTimes = entries.flatMap(\.processorTimes)
        let unit = entries.first?.unit ?? .count
        self.unit = unit.rawValue
        self.value = Figure(samples: entries.flatMap(\.values)).median
        self.rate = unit.rate(self.value)
        self.processorNanoseconds = processorTimes.isEmpty ? nil : Figure(samples: processorTimes).median
    }
}

// MARK: - Reports

extension SideBySide {
    var data: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return try encoder.encode(
                Report(
                    machine: .current,
                    rounds: self.rounds,
                    comparison: self.cases,
                    onlyBefore: self.onlyBefore,
                    onlyNow: self.onlyNow
                )
            )
        }
    }

    var text: String {
        let header = ["case", "before", "now", "CPU before", "CPU now", "CPU ratio", "rate ratio", "spread", "counts"]
        let lines = [header] + self.cases.map(Self.line(of:))
        let slower = self.cases.filter(\.isSlower)
        return
            ([Table.aligned(lines, leading: [0, 8])] + self.onlyBefore.map { "only before: \($0)" }
            + self.onlyNow.map { "only now: \($0)" } + self.failures.map { "not measured: \($0)" }
            + slower.map { "slower: \($0.name)" }
            + [
                "\(self.cases.count) compared in \(self.rounds) rounds, \(slower.isEmpty ? "none" : "\(slower.count)") slower"
            ])
            .joined(separator: "\n")
    }

    private static func line(of entry: Case) -> [String] {
        func time(_ nanoseconds: Double?) -> String { nanoseconds.map { "\($0.grouped) ns" } ?? "" }
        func ratio(_ value: Double?) -> String { value.map { "\($0.formatted(decimals: 3)) ×" } ?? "" }
        let counts = entry.counts.sorted { $0.key < $1.key }.map { name, count in
            "\(name) \(count.before?.grouped ?? "–") → \(count.now?.grouped ?? "–")"
        }
        return [
            entry.name, "\(entry.before.value.grouped) \(entry.before.unit)",
            "\(entry.now.value.grouped) \(entry.now.unit)",
            time(entry.before.processorNanoseconds), time(entry.now.processorNanoseconds), ratio(entry.processorRatio),
            ratio(entry.rateRatio), "± \((entry.spread * 100).formatted(decimals: 1)) %",
            counts.joined(separator: ", "),
        ]
    }
}
