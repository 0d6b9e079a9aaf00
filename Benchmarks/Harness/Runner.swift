import Foundation

/// Measures what the options ask for, and reports it.
struct Runner {
    struct NothingToMeasure: Error {}
    /// A case is slower than the build it was compared with.
    struct Slower: Error {}
    /// Cases that could not be measured.
    struct Failures: Error, CustomStringConvertible {
        let description: String
    }

    let options: Options

    func run() async throws {
        if let other = self.options.otherProgram { return try self.compare(with: other) }
        let settings = self.options.settings
        let machine = Machine.current
        print(machine)
        var rows: [Row] = []
        var failures: [String] = []
        for benchmark in allBenchmarks where self.options.includes(benchmark.name) {
            FileHandle.standardError.write(Data("measuring \(benchmark.name)\n".utf8))
            // A case that fails takes nothing away from what the others found.
            do { rows += try await benchmark.measure(settings) } catch {
                failures.append("\(benchmark.name): \(error)")
            }
        }
        guard !rows.isEmpty || !failures.isEmpty else { throw NothingToMeasure() }
        print(Table(rows: rows).text)
        let report = JSONReport(rows: rows, machine: machine, isQuick: settings.isQuick)
        if let file = self.options.jsonFile {
            try report.data.write(to: URL(fileURLWithPath: file))
        }
        if let file = self.options.plotFile {
            try Data(Plot(rows: rows, caption: "\(machine)").svg.utf8).write(to: URL(fileURLWithPath: file))
        }
        guard failures.isEmpty else { throw Failures(description: "not measured: " + failures.joined(separator: "\n")) }
    }

    private func compare(with other: String) throws {
        print(Machine.current)
        let comparison = try SideBySide(with: other, self.options)
        print(comparison.text)
        if let file = self.options.jsonFile { try comparison.data.write(to: URL(fileURLWithPath: file)) }
        guard comparison.failures.isEmpty else { throw SideBySide.Failed(description: "not everything was measured") }
        if comparison.cases.isEmpty { throw NothingToMeasure() }
        if comparison.hasSlower { throw Slower() }
    }
}
