import EmulatorBackend
import HTTPClientTransport
import PowerAuthClient

/// The reason a virtual device's request failed.
enum DeviceFailure: Error, Sendable, Equatable {
    /// The server or the device itself refused.
    case refused(reason: String)
    /// There was no readable response, as for a phone without a network; a retry may succeed.
    case unanswered(reason: String)

    var reason: String {
        switch self {
        case .refused(let reason), .unanswered(let reason): reason
        }
    }

    /// The error for a caller that requested the device's action.
    var error: EmulatorError { EmulatorError(.refused, self.reason) }

    /// The error for a caller that requested a device.
    var preventingActivation: EmulatorError {
        EmulatorError(.refused, "The device could not be activated: \(self.reason)")
    }

    /// Converts an error of the SDK.
    init(_ error: any Error) {
        if let refusal = error as? Refusal {
            self = .refused(reason: "\(refusal.status) \(refusal.code) \(refusal.message)")
            return
        }
        guard let error = error as? MobileTokenError else {
            self = .unanswered(reason: "the server has stopped")
            return
        }
        let reason = Self.reason(of: error)
        let isAnswered = error.httpStatus.map { (400..<500).contains($0) } ?? !error.isPassing
        self = isAnswered ? .refused(reason: reason) : .unanswered(reason: reason)
    }

    /// The server's message, if there is one.
    private static func reason(of error: MobileTokenError) -> String {
        if let transport = error.underlying as? HTTPTransportError { return transport.detail }
        if let status = error.httpStatus, !(200..<300).contains(status) {
            return [String(status), error.serverCode, error.message].compactMap(\.self).joined(separator: " ")
        }
        return "\(error.code): \(error.message)"
    }

    /// Runs requests, and converts their errors.
    static func reading<Value>(_ body: () async throws -> Value) async throws(Self) -> Value {
        do { return try await body() } catch let failure as Self { throw failure } catch { throw Self(error) }
    }
}
