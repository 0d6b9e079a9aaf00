import EmulatorBackend
import ExactJSON
import MobileToken

extension OperationPreview {
    /// The preview with the client library's doubts, which compare the shown with the signed content.
    var reviewed: Self {
        let response: JSONValue = ["status": "OK", "responseObject": self.operation]
        var reviewed = self
        do {
            let operation = try UserOperation(response: response.serialized())
            reviewed.doubts = OperationReview(of: operation).doubts.map { doubt in
                Doubt(kind: "\(doubt.kind)", subject: doubt.subject)
            }
        } catch {
            reviewed.doubts = [Doubt(kind: "\(OperationReview.Doubt.Kind.unreadable)", subject: nil)]
        }
        return reviewed
    }
}
