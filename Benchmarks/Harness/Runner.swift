import Foundation

/// Measures what the options ask for, and reports it.
struct Runner {
    struct NothingToMeasure: Error {}
    /// Something is worse than in the earlier report.
    struct Worse: Error {}
    /// Cases that could not be measured.
    struct Failures: Error, CustomStringConvertible {
        let description: String
    }

    let options: Options

    func run() async throws {
        // Before hours are spent in vain.
        let earlier = try self.options.earlierFile.map { file in
            do { return try JSONReport(file: file) } catch { throw Options.Mistake.noReport(file: file) }
        }
        let settings = self.options.settings
        let machine = Machine.current
        print(machine)
        var rows: [Row] = []
        var failures: [String] = []
        for benchmark in allBenchmarks where self.options.includes(benchmark) {
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
        if let earlier {
            let comparison = Comparison(report, since: earlier)
            print("\n" + comparison.text)
            if comparison.hasWorse && failures.isEmpty { throw Worse() }
        }
        guard failures.isEmpty else { throw Failures(description: "not measured: " + failures.joined(separator: "\n")) }
    }
}
