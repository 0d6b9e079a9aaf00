import MobileTokenCloud
import OtherTypes

let otherTypes: [Any.Type] = [
    HTTPRequest.self, HTTPResponse.self, HTTPHeaders.self, Endpoint.self, FormData.self, Empty.self,
]

let types: [Any.Type] = [
    CloudClient.Operation.self, CloudClient.OfflineCode.self, CloudClient.Registration.self, CloudError.Code.self,
    CloudError.Violation.self, CloudClient.RegistrationStatus.self, JSONValue.self, HTTPTransportError.self,
    CloudClient.NewRegistration.self, CloudClient.NewRegistration.Step.self, CloudClient.ActivationOffer.self,
    CloudClient.SignedRequest.self, CloudClient.SignedRequest.Method.self, CloudClient.Verdict.self,
    CloudClient.NewMessage.self, CloudClient.Message.self, CloudClient.NewPush.self, CloudClient.Application.self,
]

/// A back end that asks, over a transport with pins.
func ask(pin: String) async throws -> CloudClient.OperationStatus {
    var transport = CurlTransport.Configuration()
    transport.tls.pinnedPublicKeys = [pin]
    var configuration = CloudClient.Configuration()
    configuration.transport = try CurlTransport(configuration: transport)
    let cloud = try CloudClient(
        baseURL: "https://cloud.example.com/powerauth-cloud",
        credentials: CloudClient.Credentials(user: "billing", password: "secret"),
        configuration: configuration
    )
    let question = CloudClient.NewOperation(template: "payment", userID: "alice")
    do {
        let created: CloudResponse<CloudClient.Operation> = try await cloud.createOperation(question)
        return try await cloud.operation(created.id).status
    } catch let error as CloudError where error.isOutcomeUnknown {
        return CloudClient.OperationStatus(rawValue: "UNKNOWN")
    }
}
