import Basics
import CloudCalls
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// The questions of a bank's own endpoint about the headers of a request that it got from a device.
///
/// A header that cannot be read is refused; of one that can, the answer says whether it is right. Both count as if the device
/// had called this server.
enum AuthenticationEndpoints {
    static let routes: [Backend.Route] = [
        .cloud(CloudAPI.verifySignature, Self.verifyCode), .cloud(CloudAPI.verifyAuthentication, Self.verifyCode),
        .cloud(CloudAPI.verifyToken, Self.verifyToken),
    ]

    private static func verifyCode(
        _ bank: inout Backend,
        _ request: CloudAPI.CodeToVerify,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudAPI.CodeVerdict {
        var received = RequestContext(try Self.received(request), at: context.now)
        received.inspection = context.inspection
        // The journal shows what was counted, also for a wrong code.
        defer { context.takeOver(received) }
        let code: RequestCode
        do { code = try bank.requestCode(of: &received) } catch { throw .authenticationHeader(error) }
        let demand = CodeDemand(uriID: request.uriID, types: Set(SignatureType.allCases))
        let isJudged = bank.judges(code)
        do {
            let accepted = try bank.verify(code, &received, demand)
            return bank.codeVerdict(accepted.activation, code.type, isValid: true)
        } catch {
            context.refusal = error.reason
            return bank.codeVerdict(refusing: code, isJudged)
        }
    }

    /// The request as the bank got it from the device.
    private static func received(_ request: CloudAPI.CodeToVerify) throws(Refusal) -> ReceivedRequest {
        var received = ReceivedRequest(method: request.method.rawValue, path: "")
        received.headers = [(RequestCode.headerName, request.header)]
        if let body = request.body {
            guard let body = Base64.decode(body) else {
                throw .invalid("requestBody", "is not Base64", value: .string(body))
            }
            received.body = body
        }
        let pairs = (request.query ?? [:]).sorted { $0.key < $1.key }.map { name, value in
            "\(PercentEncoding.encode(name))=\(PercentEncoding.encode(value))"
        }
        // A query that a device signs is decoded as a whole, and then in its parts.
        received.rawQuery = PercentEncoding.encode(pairs.joined(separator: "&"))
        return received
    }

    private static func verifyToken(
        _ bank: inout Backend,
        _ request: CloudAPI.TokenToVerify,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudAPI.TokenVerdict {
        var received = RequestContext(ReceivedRequest(method: "POST", path: ""), at: context.now)
        received.request.headers = [(RequestToken.headerName, request.header)]
        received.inspection = context.inspection
        defer { context.takeOver(received) }
        do {
            return bank.tokenVerdict(try bank.verifyToken(&received))
        } catch {
            // A header without sense is not a token that is wrong.
            guard error.kind != .header else { throw .tokenHeader(error) }
            context.refusal = error.reason
            return bank.tokenVerdict(refusing: received.activationID)
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
    ) -> CloudAPI.CodeVerdict {
        CloudAPI.CodeVerdict(
            isValid: isValid,
            registrationID: activation.id,
            registrationStatus: activation.status.rawValue,
            self.identity(of: activation, type),
            remainingAttempts: activation.remainingAttempts
        )
    }

    /// Indicates whether a code is looked at: there is an active activation of its application.
    fileprivate func judges(_ code: RequestCode) -> Bool {
        guard let activation = self.state.activations[code.activationID], activation.status == .active else {
            return false
        }
        return self.application(ofKey: code.applicationKey)?.id == activation.applicationID
    }

    /// Returns the verdict on a refused code: the state alone when the code was not looked at.
    fileprivate func codeVerdict(refusing code: RequestCode, _ isJudged: Bool) -> CloudAPI.CodeVerdict {
        guard isJudged, let activation = self.state.activations[code.activationID] else {
            let id = code.activationID
            return CloudAPI.CodeVerdict(
                isValid: false,
                registrationID: id,
                registrationStatus: self.status(ofActivation: id)
            )
        }
        return self.codeVerdict(activation, code.type, isValid: false)
    }

    fileprivate func tokenVerdict(_ use: TokenUse) -> CloudAPI.TokenVerdict {
        CloudAPI.TokenVerdict(
            isValid: true,
            registrationID: use.activation.id,
            registrationStatus: use.activation.status.rawValue,
            self.identity(of: use.activation, use.factors)
        )
    }

    fileprivate func tokenVerdict(refusing id: String?) -> CloudAPI.TokenVerdict {
        CloudAPI.TokenVerdict(
            isValid: false,
            registrationID: id,
            registrationStatus: id.map(self.status(ofActivation:))
        )
    }

    private func status(ofActivation id: String) -> String {
        (self.state.activations[id]?.status ?? .removed).rawValue
    }

    private func identity(of activation: ServerActivation, _ type: SignatureType) -> CloudAPI.VerifiedIdentity {
        CloudAPI.VerifiedIdentity(
            userID: activation.userID,
            signatureType: type.rawValue.uppercased(),
            flags: activation.flags,
            application: self.verifiedApplication(of: activation)
        )
    }
}
