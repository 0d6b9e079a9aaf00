/// The options of the command line.
struct Options {
    enum Mistake: Error, CustomStringConvertible {
        case missingValue(String)
        case unknown(String)
        case noReport(file: String)

        var description: String {
            switch self {
            case .missingValue(let option): "\(option) needs a value"
            case .unknown(let option): "unknown option \(option)"
            case .noReport(let file): "\(file) is no report of an earlier run"
            }
        }
    }

    static let help = """
        Usage: Scripts/bench [options]

          --filter TEXT     only the cases whose name contains TEXT; may be given more than once
          --quick           five short samples instead of nine longer ones
          --trial           one sample that is too short to tell anything: only to see which cases fail
          --json FILE       write every sample to FILE
          --plot FILE.svg   draw the cases
          --compare FILE    say what is worse than in an earlier --json FILE by more than its spread, and end with 3
                            if anything is
          --list            name the cases, and measure nothing
          --help            this text

        "ratio" is ours divided by the baseline of the same run: times should be small, rates (/s) large.
        "spread" is half the distance between the extreme samples. "CPU" and "allocations" are per operation, of this
        process with all its threads.
        """

    var filters: [String] = []
    var jsonFile: String?
    var plotFile: String?
    var earlierFile: String?
    var settings = Settings.thorough
    var isList = false
    var isHelp = false

    init(_ arguments: some Sequence<String>) throws {
        var arguments = arguments.makeIterator()
        func value(of option: String) throws -> String {
            guard let value = arguments.next() else { throw Mistake.missingValue(option) }
            return value
        }
        while let argument = arguments.next() {
            switch argument {
            case "--filter": self.filters.append(try value(of: argument))
            case "--json": self.jsonFile = try value(of: argument)
            case "--plot": self.plotFile = try value(of: argument)
            case "--compare": self.earlierFile = try value(of: argument)
            case "--quick": self.settings = .quick
            case "--trial": self.settings = .trial
            case "--list": self.isList = true
            case "--help", "-h": self.isHelp = true
            default: throw Mistake.unknown(argument)
            }
        }
    }

    func includes(_ benchmark: Benchmark) -> Bool {
        self.filters.isEmpty || self.filters.contains { benchmark.name.contains($0) }
    }
}
