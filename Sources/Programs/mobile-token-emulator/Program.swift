import CommandLineSupport

@main
enum Program {
    static func main() async {
        await CommandLineProgram(
            summary: "a development server for PowerAuth clients.",
            commands: EmulatorCommands.all + DriverCommands.all + EndpointCommands.all + [Demo.command]
        ).main()
    }
}
