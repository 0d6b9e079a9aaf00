import AskCommands
import CommandLineSupport

/// The commands that need libpq, which `mobile-token` hands over, so that it does not.
@main
enum Program {
    static func main() async {
        await CommandLineProgram(
            summary: "look after the PostgreSQL database that nodes share, or ask for approvals with a ledger there.",
            commands: StoreCommands.all + AskCommands(openers: [.sqlite, StoreSession.ledgers]).all,
            environment: StoreSession.environment + AskCommands.environment
        ).main()
    }
}
