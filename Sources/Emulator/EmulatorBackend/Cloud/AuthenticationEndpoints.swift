import Basics
import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthCrypto
import PowerAuthProtocol

/// The calls with which a bank's endpoint verifies the headers of a device's request.
///
/// An unreadable header is refused; for a readable one, the response is the verdict. Both count as if the device had called this
/// server.
enum AuthenticationEndpoints {
    static let routes: [Backend.Route] = [
        .cloud(CloudAPI.verifySignature, Self.verifyCode), .cloud(CloudAPI.verifyAuthentication, Self.verifyCode),
        .cloud(CloudAPI.verifyToken, Self.verifyToken),
    ]

    private static func verifyCode(
        _ bank: inout Backend,
        _ request: CloudClient.SignedRequest,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudClient.Verdict {
        var received = RequestContext(try Self.received(request), at: context.now)
        received.inspection = context.inspection
        // The journal shows the counts, also for an invalid code.
        defer { context.takeOver(received) }
        let code: RequestCode
        do { code = try bank.requestCode(of: &received) } catch { throw .authenticationHeader(error) }
        let demand = SignaturePolicy(uriID: request.uriID, types: Set(SignatureType.allCases))
        let isJudged = bank.judges(code)
        do {
            let accepted = try bank.verify(code, &received, demand)
            return bank.verdict(accepted.activation, code.type, isValid: true)
        } catch {
            context.refusal = error.reason
            guard isJudged, let activation = bank.state.activations[code.activationID] else {
                return bank.verdict(on: code.activationID)
            }
            return bank.verdict(activation, code.type, isValid: false)
        }
    }

    /// Returns the device's request as the bank received it.
    private static func received(_ request: CloudClient.SignedRequest) throws(Refusal) -> ReceivedRequest {
        var received = ReceivedRequest(method: request.method.rawValue, path: "")
        received.headers = [(RequestCode.headerName, request.header)]
        if let body = request.encodedBody {
            guard let body = Base64.decode(body) else {
                throw .invalid("requestBody", "is not Base64", value: .string(body))
            }
            received.body = body
        }
        let pairs = (request.query ?? [:]).sorted { $0.key < $1.key }.map { name, value in
            "\(PercentEncoding.encode(name))=\(PercentEncoding.encode(value))"
        }
        // A signed query is decoded as a whole, and then in its parts.
        received.rawQuery = PercentEncoding.encode(pairs.joined(separator: "&"))
        return received
    }

    private static func verifyToken(
        _ bank: inout Backend,
        _ header: String,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudClient.Verdict {
        let request = ReceivedRequest(method: "POST", path: "", headers: [(RequestToken.headerName, header)])
        var received = RequestContext(request, at: context.now)
        received.inspection = context.inspection
        defer { context.takeOver(received) }
        do {
            let use = try bank.verifyToken(&received)
            return bank.verdict(use.activation, use.factors, isValid: true)
        } catch {
            // A malformed header is no invalid token.
            guard !error.isOfHeader else { throw .tokenHeader(error) }
            context.refusal = error.reason
            return bank.verdict(on: received.activationID)
        }
    }
}

extension RequestContext {
    /// Takes the findings of the verification of a request inside this one.
    fileprivate mutating func takeOver(_ inner: Self) {
        self.activationID = inner.activationID
        self.counterBefore = inner.counterBefore
        self.counterAfter = inner.counterAfter
        self.events += inner.events
        self.inspection = inner.inspection
    }
}

extension Backend {
    /// Returns the verdict on a code that was verified.
    func verdict(_ activation: ServerActivation, _ type: SignatureType, isValid: Bool) -> CloudClient.Verdict {
        var verdict = self.verdict(on: activation.id, isValid: isValid)
        verdict.registrationStatus = .init(rawValue: activation.status.rawValue)
        (verdict.userID, verdict.givenFlags) = (activation.userID, activation.flags)
        verdict.factors = type.rawValue.uppercased()
        verdict.remainingAttempts = activation.remainingAttempts
        let roles = self.state.applications[activation.applicationID]?.roles ?? []
        verdict.application = CloudAPI.VerifiedApplication(id: activation.applicationID, roles: roles)
        return verdict
    }

    /// Returns the verdict with the state alone.
    fileprivate func verdict(on activationID: String?, isValid: Bool = false) -> CloudClient.Verdict {
        let status = activationID.map { (self.state.activations[$0]?.status ?? .removed).rawValue }
        return CloudClient.Verdict(
            isValid: isValid,
            registrationID: activationID,
            registrationStatus: status.map { .init(rawValue: $0) }
        )
    }

    /// Indicates whether a code is verified: there is an active activation of its application.
    fileprivate func judges(_ code: RequestCode) -> Bool {
        guard let activation = self.state.activations[code.activationID], activation.status == .active else {
            return false
        }
        return self.application(ofKey: code.applicationKey)?.id == activation.applicationID
    }
}
