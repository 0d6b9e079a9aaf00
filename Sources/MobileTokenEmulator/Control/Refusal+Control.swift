import EmulatorBackend
import EmulatorMessages

extension Refusal {
    static let unknownControlPath = Self(404, "ERROR_NOT_FOUND", "The control API has no such path")

    static func wrongControlMethod(allowed: [String]) -> Self {
        var refusal = Self(405, "METHOD_NOT_ALLOWED", "Allowed here: \(allowed.joined(separator: ", "))")
        refusal.headers = [("Allow", allowed.joined(separator: ", "))]
        return refusal
    }
}

extension EmulatorError {
    var response: ServerResponse {
        switch self.code {
        case .notFound: .error(404, code: "ERROR_NOT_FOUND", message: self.message)
        case .conflict, .refused: .error(409, code: "INVALID_STATE", message: self.message)
        case .capacityExceeded: .error(507, code: "CAPACITY_EXCEEDED", message: self.message)
        case .invalidDocument, .invalidConfiguration: .error(400, code: "INVALID_REQUEST", message: self.message)
        default: .error(500, code: "ERROR_GENERIC", message: self.message)
        }
    }
}
