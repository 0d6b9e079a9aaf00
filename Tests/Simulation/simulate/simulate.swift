import Glibc
import Simulation

@main
struct Simulate {
    static func main() { exit(SimulateCommand.run(CommandLine.arguments)) }
}
