import MobileToken
import MobileTokenPostgres
import OtherTypes

let otherTypes: [Any.Type] = [
    HTTPRequest.self, HTTPResponse.self, HTTPHeaders.self, Endpoint.self, FormData.self, Empty.self,
]

let types: [Any.Type] = [
    PostgresConfiguration.self, PostgresConfiguration.TLS.self,
    PostgresFleetMembership.self, SealingKeyRing.self, NodeLifetimes.self,
]

func fleet(_ keys: SealingKeyRing) throws -> OperationsFleet.Configuration {
    var configuration = PostgresConfiguration(connectionString: "dbname=bank", sealingKeys: keys)
    configuration.tls = .verified
    configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(1), death: .seconds(3))
    var fleet = OperationsFleet.Configuration()
    fleet.membership = try PostgresFleetMembership(store: ActivationStore.postgres(configuration))
    return fleet
}
