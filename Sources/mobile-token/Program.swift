import CommandLineSupport
import MobileToken
import PowerAuthCrypto
import PowerAuthProtocol

@main
enum Program {
    static func main() async {
        await CommandLineProgram(
            summary: "approve and reject operations with a PowerAuth activation, or run a development server.",
            version: Self.version,
            commands: ActivationCommands.all + ServerSideCommands.all + DeviceKeyCommands.all + OperationCommands.all
                + InboxCommands.all
                + AgentCommands.all
                + ReceiptCommands.all + ProfileCommands.all + BackupCommand.all + self.sharedStores
                + self.developmentServer,
            commonOptions: Session.options,
            environment: Session.environment,
            cleanUp: PasswordSource.showAgain
        ).main()
    }

    /// The version of the SDK, and which suites of version 4 of the protocol this machine has.
    private static func version() -> String {
        let lines = AlgorithmSuite.allCases.map { suite in
            do throws(SuiteUnavailableError) {
                try suite.requireAvailability()
                return "\(suite.rawValue): available"
            } catch {
                return "\(suite.rawValue): not available; it needs \(error.neededVersion) or newer"
            }
        }
        return ([MobileTokenClient.sdkVersion, CryptoLibrary.version] + lines).joined(separator: "\n")
    }

    /// The commands that `mobile-token-postgres` runs, so that this program does not need libpq.
    private static let sharedStores = [
        ("store", "check", "Check the activations of a PostgreSQL store."),
        ("store", "copy", "Move activations from an SQLite store to a PostgreSQL store."),
        ("store", "migrate", "Make or change the tables of a PostgreSQL store."),
        ("store", "prune", "Delete receipts that were exported and verified."),
        ("store", "receipts", "Show how many receipts wait for an export, and how much room they take."),
        ("store", "recover", "Let an activation sign again whose store was put back from long ago."),
        ("store", "reseal", "Seal a PostgreSQL store with another key."),
        ("fleet", "status", "Show the nodes that share a PostgreSQL store."),
    ].map { group, name, summary in
        Command(
            group,
            name,
            summary: summary,
            handOverTo: SiblingProgram("mobile-token-postgres", shownAs: "mobile-token", words: group, name)
        )
    }

    /// The commands that `mobile-token-emulator` runs, so that this program links no server.
    private static let developmentServer =
        [
            Command(
                "emulator",
                summary: "Run a development server until interrupted.",
                handOverTo: SiblingProgram("mobile-token-emulator", shownAs: "mobile-token emulator")
            )
        ]
        + [
            ("block", "Block an activation, for good or for a time."),
            ("cancel", "Cancel an operation that waits for a decision."),
            ("clock", "Show the server's time, or set it."),
            ("commit", "Let a registration become active, after its device has activated."),
            ("create", "Create an operation, from a template or from a form of your own."),
            ("exec", "Run a command beside a development server, and end with its exit status."),
            ("export", "Write the whole state, keys included."),
            ("fault", "Make requests fail on purpose, or show and remove the rules of that."),
            ("import", "Replace the whole state by an exported one, also for the next reset."),
            ("journal", "Show the requests that the server handled, and why it refused some."),
            ("play", "Make all that a scenario file asks for, or nothing of it."),
            ("register", "Register a device for a user, and show its activation code."),
            ("reset", "Go back to the state at the start, or that of the last import."),
            ("settle", "Wait until no virtual device and no delivery has anything due or under way."),
            ("template", "Add a template of operations from a file, or remove one, until a reset."),
            ("templates", "Show the templates of operations, or the document of one."),
            ("unblock", "Unblock an activation."),
            ("wait", "Wait until a development server accepts requests."),
        ].map { name, summary in
            Command(
                "emulator",
                name,
                summary: summary,
                handOverTo: SiblingProgram("mobile-token-emulator", shownAs: "mobile-token emulator", words: name)
            )
        }
        + [
            Command(
                "demo",
                summary: "Show the main job, end to end, against a development server of its own.",
                handOverTo: SiblingProgram("mobile-token-emulator", shownAs: "mobile-token", words: "demo")
            )
        ]
}
