import AskCommands
import CommandLineSupport

/// The commands that need libpq; `mobile-token` delegates them, so that it does not need it.
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
