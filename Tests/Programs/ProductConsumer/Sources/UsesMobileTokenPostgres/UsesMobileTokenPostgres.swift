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

func membership(_ keys: SealingKeyRing) throws -> any FleetMembership {
    var configuration = PostgresConfiguration(connectionString: "dbname=bank", sealingKeys: keys)
    configuration.tls = .verified
    configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(1), death: .seconds(3))
    return try PostgresFleetMembership(store: ActivationStore.postgres(configuration))
}
