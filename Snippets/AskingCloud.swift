// Asks a user for an approval, as a bank's back end does at PowerAuth Cloud.
import HTTPClientTransport
import MobileTokenCloud

// snippet.hide
func asking(password: String) async throws {
    // snippet.show
    let cloud = try CloudClient(
        baseURL: "https://cloud.example.com/powerauth-cloud",
        credentials: .init(user: "billing", password: password)
    )
    let question = CloudClient.NewOperation(
        template: "payment",
        userID: "alice",
        parameters: ["amount": "63.99", "currency": "EUR"]
    )
    let operation = try await cloud.createOperation(question)
    print("Asked alice: \(operation.id), until \(operation.expires)")
    // snippet.hide
}

func pinned(pin: String) throws -> CloudClient.Configuration {
    // snippet.show
    var transport = CurlTransport.Configuration()
    transport.tls.pinnedPublicKeys = ["sha256//" + pin]
    var configuration = CloudClient.Configuration()
    configuration.transport = try CurlTransport(configuration: transport)
    // snippet.hide
    return configuration
}
