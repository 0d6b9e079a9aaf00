internal import Foundation

extension Emulator {
    /// A registration that was made: what a device needs to activate.
    public struct Registration: Sendable, Hashable, Identifiable {
        /// The identifier, which the activation will have too.
        public var id: String
        /// The code to type, `W65WE-3T7VI-7FBS2-A4OYA`.
        public var activationCode: String
        /// The code with its signature, as the QR code holds it.
        public var activationQRCode: String
    }

    // What the `/v2` API does most often, through the same code and the same checks.

    /// Makes a registration for a user, as `POST /v2/registrations` does.
    ///
    /// - Throws: ``EmulatorError`` of code `refused`.
    @discardableResult
    public func makeRegistration(user: String, flags: [String] = []) async throws(EmulatorError) -> Registration {
        struct Request: Encodable {
            var userId: String
            var flags: [String]
        }
        struct Answer: Decodable {
            var registrationId: String
            var activationCode: String
            var activationQrCodeData: String
        }
        let answer: Answer = try await self.ask("POST", "/v2/registrations", Request(userId: user, flags: flags))
        return Registration(
            id: answer.registrationId,
            activationCode: answer.activationCode,
            activationQRCode: answer.activationQrCodeData
        )
    }

    /// Commits a registration whose device has exchanged its keys, as the server side of a bank does.
    ///
    /// - Throws: ``EmulatorError`` of code `refused`.
    public func commitRegistration(_ id: String) async throws(EmulatorError) {
        struct Request: Encodable {}
        struct Answer: Decodable {}
        let _: Answer = try await self.ask("POST", "/v2/registrations/\(id)/commit", Request())
    }

    /// Makes an operation from a template, as `POST /v2/operations` does.
    ///
    /// - Parameters:
    ///   - user: Who is asked; `nil` for whoever claims it.
    ///   - parameters: The values of the template's placeholders; it has its own for those left out.
    ///   - proximityCheck: Whether approval needs the one-time code that is shown nearby.
    /// - Returns: The operation's identifier.
    /// - Throws: ``EmulatorError`` of code `refused`.
    @discardableResult
    public func makeOperation(
        template: String,
        user: String?,
        parameters: [String: String] = [:],
        proximityCheck: Bool = false
    ) async throws(EmulatorError) -> String {
        struct Request: Encodable {
            var template: String
            var userId: String?
            var parameters: [String: String]
            var proximityCheckEnabled: Bool?
        }
        struct Answer: Decodable {
            var operationId: String
        }
        let request = Request(
            template: template,
            userId: user,
            parameters: parameters,
            proximityCheckEnabled: proximityCheck ? true : nil
        )
        let answer: Answer = try await self.ask("POST", "/v2/operations", request)
        return answer.operationId
    }

    /// Cancels a pending operation, as the server side does.
    ///
    /// - Throws: ``EmulatorError`` of code `refused`.
    public func cancelOperation(_ id: String) async throws(EmulatorError) {
        struct Answer: Decodable {}
        let _: Answer = try await self.ask("DELETE", "/v2/operations/\(id)", String?.none)
    }

    private func ask<Answer: Decodable>(
        _ method: String,
        _ path: String,
        _ content: (some Encodable)?
    ) async throws(EmulatorError) -> Answer {
        var request = ReceivedRequest(method: method, path: path)
        if let content {
            request.headers = [("Content-Type", "application/json")]
            request.body = (try? ControlJSON.encode(content)) ?? []
        }
        let response = await self.core.relay(request)
        guard case .bytes(let body) = response.body, response.status == 200,
            let answer = try? ControlJSON.decode(Answer.self, from: body)
        else {
            guard case .bytes(let body) = response.body,
                let refusal = try? ControlJSON.decode(CloudRefusal.self, from: body)
            else { throw EmulatorError(.refused, "The server answered \(response.status)") }
            throw EmulatorError(.refused, refusal.responseObject.message)
        }
        return answer
    }
}

private struct CloudRefusal: Decodable {
    struct Detail: Decodable {
        var message: String
    }

    var responseObject: Detail
}
