// Shares the activations of a PostgreSQL database with other machines.
import MobileToken
import MobileTokenPostgres

// snippet.hide
let sdkConfiguration = CommandLine.arguments[1]
// snippet.show
let store = ActivationStore.postgres(
    .init(
        connectionString: "host=db.example.com dbname=bank user=bot",
        sealingKeys: SealingKeyRing(current: .environment("SEALING_KEY"))
    )
)
var clientConfiguration = MobileTokenClient.Configuration()
clientConfiguration.store = store
let client = try MobileTokenClient(
    baseURL: "https://powerauth.example.com/enrollment-server",
    sdkConfiguration: sdkConfiguration,
    configuration: clientConfiguration
)
var fleetConfiguration = OperationsFleet.Configuration()
fleetConfiguration.membership = try PostgresFleetMembership(store: store)
let fleet = client.makeFleet(configuration: fleetConfiguration)
// snippet.hide
try await fleet.run()
