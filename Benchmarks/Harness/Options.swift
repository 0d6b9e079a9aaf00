/// The options of the command line.
struct Options {
    enum Mistake: Error, CustomStringConvertible {
        case missingValue(String)
        case unknown(String)
        case notANumber(String)

        var description: String {
            switch self {
            case .missingValue(let option): "\(option) needs a value"
            case .unknown(let option): "unknown option \(option)"
            case .notANumber(let option): "\(option) needs a number, 1 or more"
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
          --against COMMIT  build that commit as well, and measure each case of both builds by turns; end with 1 if
                            the processor time of one is more than 1.05 times that commit's, by more than its spread
          --rounds COUNT    with --against: rounds of "before, now, now, before"; 5 without it. Each run is --quick
          --list            name the cases, and measure nothing
          --help            this text

        "ratio" is ours divided by the baseline of the same run: times should be small, rates (/s) large.
        "spread" is half the distance between the extreme samples. "CPU" and "allocations" are per operation, of this
        process with all its threads.

        --json with --against writes {"comparison": [{"name", "before", "now", "processorRatio", "rateRatio", "spread",
        "counts"}]}: ratios are this build divided by the commit, the spread is half the distance between the extreme rounds.
        """

    var filters: [String] = []
    var jsonFile: String?
    var plotFile: String?
    /// The program of the build to compare with. `Scripts/bench` makes it of a commit.
    var otherProgram: String?
    var rounds = 5
    var settings = Settings.thorough
    /// The option that decides how long each run of a comparison takes.
    var thoroughness = "--quick"
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
            case "--against": self.otherProgram = try value(of: argument)
            case "--rounds":
                guard let rounds = Int(try value(of: argument)), rounds > 0 else { throw Mistake.notANumber(argument) }
                self.rounds = rounds
            case "--quick": (self.settings, self.thoroughness) = (.quick, argument)
            case "--trial": (self.settings, self.thoroughness) = (.trial, argument)
            case "--list": self.isList = true
            case "--help", "-h": self.isHelp = true
            default: throw Mistake.unknown(argument)
            }
        }
    }

    func includes(_ name: String) -> Bool {
        self.filters.isEmpty || self.filters.contains { name.contains($0) }
    }
}
