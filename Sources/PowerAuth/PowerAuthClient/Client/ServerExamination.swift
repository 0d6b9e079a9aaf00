package import Foundation

/// The capabilities of a server, examined without signatures.
package struct ServerExamination: Sendable {
    package enum API: String, Sendable, CaseIterable {
        case operations, inbox, push, transfer
        case openID = "OpenID"

        fileprivate var path: String {
            switch self {
            case .operations: "/api/auth/token/app/operation/list"
            case .inbox: "/api/inbox/count"
            case .push: "/api/push/device/register"
            case .transfer: "/api/activation/code"
            case .openID: "/api/config/oidc"
            }
        }
    }

    package enum Presence: Sendable {
        case present, absent
        /// The response was not the server's own, or missing.
        case unclear(MobileTokenError)
    }

    /// The software, as reported by the server.
    package struct Release: Sendable, Decodable {
        package let name: String?
        package let version: String?
    }

    /// The release; a `nil` value if the server reports none.
    package let release: Result<Release?, MobileTokenError>
    /// The seconds by which the local clock is ahead of the server's.
    package let clockLead: TimeInterval?
    package let version4: Presence
    /// The error of a key request in the application scope; `nil` if the server knows the application and signs with the
    /// configured master key.
    package let applicationError: MobileTokenError?
    /// The presence of each API; empty if the server is unreachable.
    package let apis: [(api: API, presence: Presence)]
}

extension MobileTokenClient {
    private struct ServerStatus: Decodable {
        let serverTime: Int64
        let application: ServerExamination.Release?
    }

    /// Examines the server with unauthenticated requests that change nothing. For a call without authentication, a server
    /// responds with a refusal of its own if it has the call, and with 404 if not.
    package func examineServer() async throws -> ServerExamination {
        let release: Result<ServerExamination.Release?, MobileTokenError>
        var clockLead: TimeInterval?
        do {
            let response = try await self.server.post("/pa/v3/status", for: nil, body: Self.empty, isRepeatable: true)
            let now = self.server.clocks.reading.wall
            let status = try Wire.decode(Wire.Response<ServerStatus>.self, from: response, of: "status").responseObject
            clockLead = now.timeIntervalSince1970 - TimeInterval(status.serverTime) / 1000
            release = .success(status.application)
        } catch let error as MobileTokenError {
            release = .failure(error)
            // Without a server, each further request would only time out.
            guard error.httpStatus != nil || error.code == .invalidResponse else {
                return ServerExamination(
                    release: release,
                    clockLead: nil,
                    version4: .unclear(error),
                    applicationError: error,
                    apis: []
                )
            }
        }
        var apis: [(api: ServerExamination.API, presence: ServerExamination.Presence)] = []
        for api in ServerExamination.API.allCases { apis.append((api, try await self.presence(of: api.path))) }
        return ServerExamination(
            release: release,
            clockLead: clockLead,
            version4: try await self.presence(of: "/pa/v4/status"),
            applicationError: try await self.applicationError(),
            apis: apis
        )
    }

    private static let empty = Array(#"{"requestObject":{}}"#.utf8)

    private func presence(of path: String) async throws -> ServerExamination.Presence {
        do {
            _ = try await self.server.post(path, for: nil, body: Self.empty, isRepeatable: true)
            return .present
        } catch let error as MobileTokenError {
            if error.httpStatus == 404 { return .absent }
            return error.serverCode == nil ? .unclear(error) : .present
        }
    }

    private func applicationError() async throws -> MobileTokenError? {
        do {
            try await self.encryptionKeys.standard.prepare()
            return nil
        } catch let error as MobileTokenError {
            return error
        }
    }
}
