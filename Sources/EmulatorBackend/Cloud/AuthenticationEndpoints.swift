import Basics
import CloudCalls
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// What a bank's own endpoint asks about the headers of a request that it got from a device.
///
/// A header that cannot be read is refused; of one that can, the answer says whether it is right. Both count as if the device
/// had called this server.
enum AuthenticationEndpoints {
    static let routes: [Backend.Route] =
        // The newer editions name the call after authentication codes, the older ones and the clients after signatures.
        ["/v2/signature/verify", "/v2/authentication/verify"].map { path in
            .cloud(
                "POST",
                path,
                of: .powerAuthCloud,
                "Verifies the signature or the authentication code of a request that a device sent to the bank.",
                takes: .required(.codeToVerify),
                gives: .codeVerdict,
                Self.verifyCode
            )
        } + [
            .cloud(
                "POST",
                "/v2/token/verify",
                of: .powerAuthCloud,
                "Verifies the token of a request that a device sent to the bank.",
                takes: .required(.tokenToVerify),
                gives: .tokenVerdict,
                Self.verifyToken
            )
        ]

    static func verifyCode(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try context.json()
        let uriID = try request.string("uriId")
        var received = RequestContext(try Self.received(request), at: context.now)
        received.inspection = context.inspection
        // The journal shows what was counted, also for a wrong code.
        defer { context.takeOver(received) }
        let code: RequestCode
        do { code = try bank.requestCode(of: &received) } catch { throw .authenticationHeader(error) }
        let demand = CodeDemand(uriID: uriID, types: Set(SignatureType.allCases))
        let isJudged = bank.judges(code)
        do {
            let accepted = try bank.verify(code, &received, demand)
            return .json(.object(bank.codeVerdict(accepted.activation, code.type, isValid: true)))
        } catch {
            context.refusal = error.reason
            return .json(.object(bank.codeVerdict(refusing: code, isJudged)))
        }
    }

    /// The request as the bank got it from the device.
    private static func received(_ request: JSONObject) throws(Refusal) -> ReceivedRequest {
        var received = ReceivedRequest(method: try request.string("method"), path: "")
        received.headers = [(RequestCode.headerName, try request.string("authHeader"))]
        if let body = try request.optionalString("requestBody") {
            guard let body = Base64.decode(body) else {
                throw .invalid("requestBody", "is not Base64", value: .string(body))
            }
            received.body = body
        }
        var pairs: [String] = []
        for (name, value) in try request.valuesByName(of: "queryParams").sorted(by: { $0.key < $1.key }) {
            guard let value = value.string else { throw .invalid("queryParams.\(name.beginning)", "is not a string") }
            pairs.append("\(PercentEncoding.encode(name))=\(PercentEncoding.encode(value))")
        }
        received.rawQuery = pairs.joined(separator: "&")
        return received
    }

    static func verifyToken(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        var received = RequestContext(ReceivedRequest(method: "POST", path: ""), at: context.now)
        received.request.headers = [(RequestToken.headerName, try context.json().string("authHeader"))]
        received.inspection = context.inspection
        defer { context.takeOver(received) }
        do {
            let use = try bank.verifyToken(&received)
            return .json(.object(bank.tokenVerdict(use)))
        } catch {
            // A header without sense is not a token that is wrong.
            guard error.kind != .header else { throw .tokenHeader(error) }
            context.refusal = error.reason
            return .json(.object(bank.tokenVerdict(refusing: received.activationID)))
        }
    }
}

extension RequestContext {
    /// Takes over what the verification of a request within this one found out.
    fileprivate mutating func takeOver(_ inner: Self) {
        self.activationID = inner.activationID
        self.counterBefore = inner.counterBefore
        self.counterAfter = inner.counterAfter
        self.events += inner.events
        self.inspection = inner.inspection
    }
}

extension Backend {
    /// The application of an activation as the verdicts show it.
    func verifiedApplication(of activation: ServerActivation) -> CloudAPI.VerifiedApplication {
        let roles = self.state.applications[activation.applicationID]?.roles ?? []
        return CloudAPI.VerifiedApplication(id: activation.applicationID, roles: roles)
    }

    fileprivate func codeVerdict(
        _ activation: ServerActivation,
        _ type: SignatureType,
        isValid: Bool
    ) -> JSONObject {
        var verdict: JSONObject = ["signatureValid": .bool(isValid)]
        verdict.members += self.identity(of: activation, type).members
        verdict["remainingAttempts"] = .number(JSONNumber(activation.remainingAttempts))
        return verdict
    }

    /// Whether a code is looked at: there is an active activation of its application.
    fileprivate func judges(_ code: RequestCode) -> Bool {
        guard let activation = self.state.activations[code.activationID], activation.status == .active else {
            return false
        }
        return self.application(ofKey: code.applicationKey)?.id == activation.applicationID
    }

    /// Returns the verdict on a refused code: the state alone when the code was not looked at.
    fileprivate func codeVerdict(refusing code: RequestCode, _ isJudged: Bool) -> JSONObject {
        guard isJudged, let activation = self.state.activations[code.activationID] else {
            return self.state(ofActivation: code.activationID, "signatureValid")
        }
        return self.codeVerdict(activation, code.type, isValid: false)
    }

    fileprivate func tokenVerdict(_ use: TokenUse) -> JSONObject {
        var verdict: JSONObject = ["tokenValid": true]
        verdict.members += self.identity(of: use.activation, use.factors).members
        return verdict
    }

    fileprivate func tokenVerdict(refusing activationID: String?) -> JSONObject {
        guard let activationID else { return ["tokenValid": false] }
        return self.state(ofActivation: activationID, "tokenValid")
    }

    private func state(ofActivation id: String, _ name: String) -> JSONObject {
        let status = self.state.activations[id]?.status ?? .removed
        return JSONObject([
            .init(key: name, value: false), .init(key: "registrationId", value: .string(id)),
            .init(key: "registrationStatus", value: .string(status.rawValue)),
        ])
    }

    private func identity(of activation: ServerActivation, _ type: SignatureType) -> JSONObject {
        [
            "userId": .string(activation.userID), "registrationId": .string(activation.id),
            "registrationStatus": .string(activation.status.rawValue),
            "signatureType": .string(type.rawValue.uppercased()), "flags": .strings(activation.flags),
            "application": self.verifiedApplication(of: activation).json,
        ]
    }
}
