import CommandLineSupport

/// The commands that need libpq, which `mobile-token` hands over, so that it does not.
@main
enum Program {
    static func main() async {
        await CommandLineProgram(
            summary: "look after the PostgreSQL database that nodes share.",
            commands: StoreCommands.all
        ).main()
    }
}
