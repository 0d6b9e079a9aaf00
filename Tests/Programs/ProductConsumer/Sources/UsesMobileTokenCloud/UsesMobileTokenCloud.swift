import MobileTokenCloud
import OtherTypes

let otherTypes: [Any.Type] = [
    HTTPRequest.self, HTTPResponse.self, HTTPHeaders.self, Endpoint.self, FormData.self, Empty.self,
]

let types: [Any.Type] = [
    CloudClient.Operation.self, CloudClient.OfflineCode.self, CloudClient.Registration.self, CloudError.Code.self,
    CloudError.Violation.self, CloudClient.RegistrationStatus.self,
    CloudClient.NewRegistration.self, CloudClient.NewRegistration.Step.self, CloudClient.ActivationOffer.self,
    CloudClient.SignedRequest.self, CloudClient.SignedRequest.Method.self, CloudClient.Verdict.self,
    CloudClient.NewMessage.self, CloudClient.Message.self, CloudClient.NewPush.self, CloudClient.Application.self,
]

/// A back end that asks.
func ask() async throws -> CloudClient.OperationStatus {
    let cloud = try CloudClient(
        baseURL: "https://cloud.example.com/powerauth-cloud",
        credentials: CloudClient.Credentials(user: "billing", password: "secret"),
        configuration: CloudClient.Configuration()
    )
    let question = CloudClient.NewOperation(template: "payment", userID: "alice")
    do {
        let created: CloudResponse<CloudClient.Operation> = try await cloud.createOperation(question)
        return try await cloud.operation(created.id).status
    } catch let error as CloudError where error.isOutcomeUnknown {
        return CloudClient.OperationStatus(rawValue: "UNKNOWN")
    }
}
