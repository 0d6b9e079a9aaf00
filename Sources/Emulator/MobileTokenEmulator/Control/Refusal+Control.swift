import EmulatorBackend
import EmulatorMessages

extension Refusal {
    static let unknownControlPath = Self(404, "ERROR_NOT_FOUND", "The control API has no such path")
}

extension EmulatorError {
    var response: ServerResponse {
        var response = self.refusal.response
        response.journalEntry = self.journalEntry
        return response
    }

    var refusal: Refusal {
        switch self.code {
        case .notFound: Refusal(404, "ERROR_NOT_FOUND", self.message)
        case .conflict, .refused: Refusal(409, "INVALID_STATE", self.message)
        case .notSettled: Refusal(409, "NOT_SETTLED", self.message)
        case .capacityExceeded: Refusal(507, "CAPACITY_EXCEEDED", self.message)
        case .invalidDocument, .invalidConfiguration: Refusal(400, "INVALID_REQUEST", self.message)
        default: Refusal(500, "ERROR_GENERIC", self.message)
        }
    }
}
