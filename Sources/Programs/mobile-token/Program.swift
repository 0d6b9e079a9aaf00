import AskCommands
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
                + AskCommands(common: Session.options).all
                + ReceiptCommands.all + ProfileCommands.all + [DoctorCommand.doctor] + BackupCommand.all
                + self.sharedStores
                + self.developmentServer,
            commonOptions: Session.options,
            environment: Session.environment + AskCommands.environment,
            cleanUp: PasswordSource.showAgain
        ).main()
    }

    /// The version of the SDK, and the version 4 suites of this machine.
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

    /// The commands that `mobile-token-postgres` runs, so that this program does not need libpq. It lists them itself.
    private static let sharedStores = [
        Command(
            "store",
            summary: "Check, fill, migrate and seal a store that machines share in PostgreSQL.",
            handOverTo: SiblingProgram("mobile-token-postgres", shownAs: "mobile-token", words: "store")
        ),
        Command(
            "fleet",
            summary: "Show the nodes that share such a store.",
            handOverTo: SiblingProgram("mobile-token-postgres", shownAs: "mobile-token", words: "fleet")
        ),
    ]

    /// The commands that `mobile-token-emulator` runs, so that this program links no server. It lists them itself.
    private static let developmentServer = [
        Command(
            "emulator",
            summary: "Run a development server, or drive one that runs.",
            handOverTo: SiblingProgram("mobile-token-emulator", shownAs: "mobile-token emulator")
        ),
        Command(
            "demo",
            summary: "Show the main job, end to end, against a development server of its own.",
            handOverTo: SiblingProgram("mobile-token-emulator", shownAs: "mobile-token", words: "demo")
        ),
    ]
}
