import MobileToken
import MobileTokenNotifications
import PowerAuth
import Testing

/// Answers of a server, by each call that they may come to.
@Suite struct ServiceAnswerTests {
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
