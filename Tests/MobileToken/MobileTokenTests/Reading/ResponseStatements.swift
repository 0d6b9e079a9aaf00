import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenNotifications
import PowerAuth
import TestSupport
import Testing

/// "How outside input is read", section "Answers of the server".
@Suite struct ResponseStatements {
    private static func failure(_ status: Int, _ body: String) -> MobileTokenError? {
        do {
            _ = try ResponseEnvelope.body(of: HTTPResponse(status: status, body: Array(body.utf8)), to: "/", now: .now)
            return nil
        } catch {
            return error
        }
    }

    private static func error(_ code: String, message: String = "m") -> String {
        #"{"status":"ERROR","responseObject":{"code":"\#(code)","message":"\#(message)"}}"#
    }

    private static let statements: [Statement] = [
        Statement(#"{"status":"ERROR"} is an error under any HTTP status"#) {
            [200, 201, 400, 500].allSatisfy { Self.failure($0, Self.error("X")) != nil }
        },
        Statement("… however it is written, and whatever is said beside it") {
            [
                #"{"status":"ERROR","status":"OK"}"#, #"{"status":"\u0045RROR"}"#, #"{"st\u0061tus":"ERROR"}"#,
            ].allSatisfy { Self.failure(200, $0) != nil }
        },
        Statement("HTTP ≥ 400 is an error whatever the body says") {
            [400, 404, 500].allSatisfy { Self.failure($0, #"{"status":"OK","responseObject":{}}"#) != nil }
        },
        Statement("a known code gives its own Code; both names of a failed authentication the same one") {
            Self.failure(401, Self.error("POWERAUTH_AUTH_FAIL"))?.code == .authenticationFailed
                && Self.failure(401, Self.error("ERR_AUTHENTICATION"))?.code == .authenticationFailed
                && Self.failure(400, Self.error("INVALID_REQUEST"))?.code == .invalidRequest
        },
        Statement("unknown codes keep code, message and HTTP status") {
            let error = Self.failure(418, Self.error("TEAPOT", message: "short"))
            return error?.code == .serverError && error?.serverCode == "TEAPOT" && error?.message == "short"
                && error?.httpStatus == 418
        },
        Statement("codes are matched exactly") {
            ["invalid_request", "INVALID_REQUEST ", "INVALID\u{FF3F}REQUEST"].allSatisfy {
                Self.failure(400, Self.error($0))?.code == .serverError
            }
        },
        Statement("a 401 without the server's code is somebody else's page, and no authentication failure") {
            ["", "<html>", "[]", #"{"status":7}"#].allSatisfy { Self.failure(401, $0)?.code == .httpStatus }
        },
        Statement("a member of an error given twice reads as missing") {
            let twice = #"{"status":"ERROR","responseObject":{"code":"A","code":"INVALID_REQUEST","message":"m"}}"#
            return Self.failure(400, twice)?.serverCode == nil
        },
    ]

    @Test(arguments: Self.statements) func holds(_ statement: Statement) throws {
        #expect(try statement.holds(), "\(statement)")
    }

    /// `OPERATION_EXPIRED` is named after the call.
    @Test func anExpiryIsNamedAfterTheCall() async throws {
        let channel = ScriptedChannel { _ in
            throw MobileTokenError(.serverError, "late", httpStatus: 400, serverCode: "OPERATION_EXPIRED")
        }
        let service = OperationsService(activation: channel)
        let operation = UserOperation.sample("1")
        var codes: [MobileTokenError.Code?] = []
        func record(_ call: () async throws -> Void) async {
            do {
                try await call()
            } catch {
                codes.append((error as? MobileTokenError)?.code)
            }
        }
        await record { try await service.authorize(operation, with: .possessionAndKnowledge(password: "secret")) }
        await record { try await service.reject(operation) }
        await record { try await service.claim(id: "1") }
        await record { _ = try await service.detail(id: "1") }
        #expect(codes == [.authorizeExpired, .rejectExpired, .claimExpired, .detailExpired])
    }

    /// A success without its object is `invalidResponse`, and says under which status it came: a proxy's page mostly comes
    /// under 200.
    @Test(arguments: ["<html>", "", "{}", #"{"status":"OK"}"#, #"{"status":"OK","responseObject":5}"#])
    func everyUnreadableSuccessTellsItsStatus(body: String) async throws {
        let channel = ScriptedChannel { _ in [UInt8](body) }
        let (service, inbox) = (OperationsService(activation: channel), InboxService(activation: channel))
        let factors = Activation.Authentication.possessionAndKnowledge(password: "secret")
        let operation = UserOperation.sample("1")
        let hasStatus = body.contains("OK")
        func check(isObjectWanted: Bool = true, _ call: () async throws -> Void) async {
            do {
                try await call()
                #expect(!isObjectWanted && hasStatus)
            } catch {
                let error = error as? MobileTokenError
                #expect(error?.code == .invalidResponse)
                #expect(error?.httpStatus == 200)
            }
        }
        await check { _ = try await service.operations() }
        await check { _ = try await service.detail(id: "1") }
        await check { _ = try await service.claim(id: "1") }
        await check { _ = try await service.history(authenticatedBy: factors) }
        await check(isObjectWanted: false) { try await service.authorize(operation, with: factors) }
        await check(isObjectWanted: false) { try await service.reject(operation) }
        await check { _ = try await inbox.unreadCount() }
        await check { _ = try await inbox.list(page: 0) }
        await check { _ = try await inbox.message(id: "1") }
        await check(isObjectWanted: false) { try await inbox.markRead(id: "1") }
        await check(isObjectWanted: false) { try await inbox.markAllRead() }
        await check(isObjectWanted: false) {
            try await PushService(activation: channel).register(token: "t", for: .fcm)
        }
    }
}
