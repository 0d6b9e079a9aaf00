import Basics
import EmulatorMessages
package import ExactJSON

extension Emulator {
    /// A request for a log: without query values, body values and header fields, and with strings that fit a line.
    package struct LoggedRequest: Sendable {
        package let method: String
        package let path: String
        /// The status; 0 for a reset connection.
        package let status: Int
        /// The error code of a refusal.
        package let code: String?
        package let activationID: String?
        /// Warnings about ignored parts of the request.
        package let warnings: [String]
        package let duration: Duration

        package var milliseconds: Double { ((self.duration / .milliseconds(1)) * 10).rounded() / 10 }

        package var line: String {
            let parts = ["\(self.method) \(self.path)", "\(self.status)", self.code, self.activationID]
            return (parts.compactMap(\.self) + self.warnings + ["\(self.milliseconds) ms"]).joined(separator: "  ")
        }

        package var document: JSONValue {
            [
                "method": .string(self.method), "path": .string(self.path), "status": .number(JSONNumber(self.status)),
                "code": self.code.map { .string($0) } ?? .null,
                "activationId": self.activationID.map { .string($0) } ?? .null,
                "warnings": .array(self.warnings.map { .string($0) }),
                "milliseconds": .init(floatLiteral: self.milliseconds),
            ]
        }
    }
}

extension Emulator.LoggedRequest {
    init(_ request: ReceivedRequest, _ response: ServerResponse, duration: Duration) {
        var status = response.status
        if case .reset = response.body { status = 0 }
        var code: String?
        if status >= 400, let body = try? JSONValue(parsing: response.bytes) {
            code = body["responseObject"]?["code"]?.string.map { DisplayText.escaped($0, limit: 64) }
        }
        self.init(
            method: DisplayText.escaped(request.method, limit: 16),
            path: DisplayText.escaped(request.path, limit: 200),
            status: status,
            code: code,
            activationID: response.activationID.map { DisplayText.escaped($0, limit: 64) },
            warnings: response.warnings.map { DisplayText.escaped($0, limit: 200) },
            duration: duration
        )
    }
}
