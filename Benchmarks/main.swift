import Foundation

switch CommandLine.arguments.dropFirst().first {
case StaticServer.subcommand:
    try StaticServer(answers: Array(CommandLine.arguments.dropFirst(2))).run()
case EmulatorProcess.subcommand:
    try await EmulatorProcess.run()
    exit(0)
default:
    break
}

do {
    let options = try Options(CommandLine.arguments.dropFirst())
    if options.isHelp {
        print(Options.help)
    } else if options.isList {
        for benchmark in allBenchmarks { print("\(benchmark.name): \(benchmark.summary)") }
    } else {
        try await Runner(options: options).run()
    }
} catch let mistake as Options.Mistake {
    FileHandle.standardError.write(Data("\(mistake)\n\n\(Options.help)\n".utf8))
    exit(2)
} catch is Runner.Slower {
    exit(1)
} catch let failure as SideBySide.Failed {
    FileHandle.standardError.write(Data("\(failure)\n".utf8))
    exit(2)
} catch is Runner.NothingToMeasure {
    FileHandle.standardError.write(Data("no case has such a name\n".utf8))
    exit(2)
} catch {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(1)
}
