import MobileToken
import MobileTokenPostgres
import OtherTypes

let otherTypes: [Any.Type] = [
    HTTPRequest.self, HTTPResponse.self, HTTPHeaders.self, Endpoint.self, FormData.self, Empty.self,
]

let types: [Any.Type] = [
    PostgresActivationStore.self, PostgresActivationStore.Configuration.self, PostgresActivationStore.TLS.self,
    PostgresFleetMembership.self, SealingKeyRing.self, NodeLifetimes.self,
]

func membership(_ keys: SealingKeyRing) -> any FleetMembership {
    var configuration = PostgresActivationStore.Configuration(connectionString: "dbname=bank", sealingKeys: keys)
    configuration.tls = .verified
    configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(1), death: .seconds(3))
    return PostgresFleetMembership(store: PostgresActivationStore(configuration))
}
