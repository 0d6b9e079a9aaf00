import Foundation

/// Measures what the options ask for, and reports it.
struct Runner {
    struct NothingToMeasure: Error {}

    let options: Options

    func run() async throws {
        let settings: Settings = self.options.isQuick ? .quick : .thorough
        let machine = Machine.current
        print(machine)
        var rows: [Row] = []
        for benchmark in allBenchmarks where self.options.includes(benchmark) {
            FileHandle.standardError.write(Data("measuring \(benchmark.name)\n".utf8))
            rows += try await benchmark.measure(settings)
        }
        guard !rows.isEmpty else { throw NothingToMeasure() }
        print(Table(rows: rows).text)
        if let file = self.options.jsonFile {
            let report = JSONReport(rows: rows, machine: machine, isQuick: self.options.isQuick)
            try report.data.write(to: URL(fileURLWithPath: file))
        }
        if let file = self.options.plotFile {
            try Data(Plot(rows: rows, caption: "\(machine)").svg.utf8).write(to: URL(fileURLWithPath: file))
        }
    }
}
