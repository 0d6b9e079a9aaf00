/// Why the control API does not do what it was asked for.
struct ControlRefusal: Error {
    var status: Int
    var code: String
    var message: String
    var headers: [(name: String, value: String)] = []

    init(_ status: Int, _ code: String, _ message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    static func wrongMethod(allowed: [String]) -> Self {
        var refusal = Self(405, "METHOD_NOT_ALLOWED", "Allowed here: \(allowed.joined(separator: ", "))")
        refusal.headers = [("Allow", allowed.joined(separator: ", "))]
        return refusal
    }

    var response: ServerResponse {
        var response = ServerResponse.error(self.status, code: self.code, message: self.message)
        response.headers += self.headers
        return response
    }
}

extension EmulatorError {
    var response: ServerResponse {
        switch self.code {
        case .notFound: .error(404, code: "ERROR_NOT_FOUND", message: self.message)
        case .conflict: .error(409, code: "INVALID_STATE", message: self.message)
        case .invalidDocument: .error(400, code: "INVALID_REQUEST", message: self.message)
        default: .error(500, code: "ERROR_GENERIC", message: self.message)
        }
    }
}
