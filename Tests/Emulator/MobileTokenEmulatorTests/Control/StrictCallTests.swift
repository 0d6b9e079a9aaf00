import APIDescriptions
import ExactJSON
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// The calls that are this server's own: each of them refuses what it does not know, and misses what it needs, before it does anything.
@Suite(.timeLimit(.minutes(5))) struct StrictCallTests {
    private static let calls = ControlAPI.allRoutes.filter { route in
        let isOfSite = ["/", "/health", "/openapi.json"].contains(route.path)
        return route.description.status != nil && (route.description.origin == .emulator || isOfSite)
    }

    private func refusal(
        _ emulator: Emulator,
        _ route: any DescribedRoute,
        query: String = "",
        body: String
    ) async throws -> (status: Int, message: String?) {
        let path = route.path.split(separator: "/", omittingEmptySubsequences: false)
            .map { $0.utf8.first == UInt8(ascii: "{") ? "x" : String($0) }.joined(separator: "/")
        let response = try await emulator.bank(route.method, path + query, body)
        let error = try? JSONValue(parsing: Array(response.body))["responseObject"]
        return (response.status, error?["message"]?.string)
    }

    @Test func anUnknownParameterIsRefusedByItsName() async throws {
        try await withEmulator { emulator async throws in
            let state = try await emulator.exported()
            #expect(Self.calls.count > 60)
            for route in Self.calls {
                let body = route.description.request == nil ? "" : "{}"
                let (status, message) = try await self.refusal(emulator, route, query: "?zzz=1", body: body)
                #expect(status == 400, "\(route.method) \(route.path)")
                #expect(message?.contains("'zzz' is not known here") == true, "\(route.method) \(route.path)")
            }
            #expect(try await emulator.exported() == state)
        }
    }

    @Test func aBodyThatIsNeededIsMissed() async throws {
        try await withEmulator { emulator async throws in
            let state = try await emulator.exported()
            let calls = Self.calls.filter { $0.description.request?.isRequired == true }
            #expect(calls.count > 15 && calls.contains { $0.method == "PUT" })
            for route in calls {
                let (status, message) = try await self.refusal(emulator, route, body: "")
                #expect(status == 400 && message?.isEmpty == false, "\(route.method) \(route.path)")
            }
            #expect(try await emulator.exported() == state)
        }
    }
}
