import APIDescriptions
import ExactJSON
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// The examples of the description, sent to the server: what readers copy must not be refused for its form.
@Suite(.timeLimit(.minutes(5))) struct ExampleTests {
    /// Codes of refusals that say that the request is wrong, whatever there is at the server.
    private static let codes: Set<String> = [
        "ERROR_REQUEST", "INVALID_REQUEST", "ERROR_SIGNATURE_INVALID", "ERROR_TOKEN_INVALID", "ERROR_OTP_INVALID",
        "ERROR_PUSH_MESSAGE",
    ]

    @Test func theServerTakesThem() async throws {
        try await withEmulator { emulator in
            // A whole state is no example. Devices sign and encrypt what they send.
            for route in ControlAPI.allRoutes where route.path != "/_emulator/import" {
                guard let body = route.description.request, route.path.isOfBank else { continue }
                let path = route.path.split(separator: "/").map { segment in
                    segment.first == "{" ? "0f038bac-6c94-45eb-b3a9-f92e809e8ea4" : String(segment)
                }.joined(separator: "/")
                let response = try await emulator.bank(route.method, "/" + path, json: body.schema.example)
                let code = try JSONValue(parsing: Array(response.body))["responseObject"]?["code"]?.string
                #expect(
                    response.status != 400 || code.map(Self.codes.contains) != true,
                    "\(route.method) \(route.path): \(response.text)"
                )
            }
        }
    }
}

extension String {
    fileprivate var isOfBank: Bool {
        ["/v2/", "/admin/", "/_emulator/"].contains { self.utf8.starts(with: $0.utf8) }
    }
}
