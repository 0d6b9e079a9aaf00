import MobileToken
import MobileTokenOffline

let types: [Any.Type] = [
    OfflineOperation.self, OfflineOperation.Unverified.self, OfflineOperation.SigningKey.self,
    OfflineOperation.Flags.self, OfflineOperation.ParsingError.self, OfflineOperation.ParsingError.Code.self,
]

func approve(_ text: String, by operations: OperationsService, _ factors: Activation.Authentication) async throws {
    let code = try OfflineOperation.Unverified(parsing: text)
    let operation: OfflineOperation = try operations.verify(code)
    guard operation.doubts.isEmpty else { return }
    _ = try await operations.authorize(offline: code, with: factors)
}
