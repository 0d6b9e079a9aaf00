import MobileTokenTesting
import OtherTypes

let otherTypes: [Any.Type] = [
    HTTPRequest.self, HTTPResponse.self, HTTPHeaders.self, Endpoint.self, FormData.self, Empty.self,
]

let types: [Any.Type] = [
    ManualClock.self, ManualClock.Instant.self, ScriptedApprover.self,
]

func inSpace(_ body: () async throws -> Void) async throws { try await withSpace { _ in try await body() } }
func inScope(_ body: () async throws -> Void) async throws { try await withEmulator { _ in try await body() } }
