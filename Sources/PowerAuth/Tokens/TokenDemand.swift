import Basics
import PowerAuthProtocol

/// The token that a request needs, and what makes it when there is none.
struct TokenDemand: Sendable {
    let name: ExactString
    /// Those that it must have been made with at least.
    let factors: SignatureType
    /// The factors at hand besides possession, which always is.
    private let authentication: Authentication

    init(_ name: String, _ factors: SignatureType, with authentication: Authentication) {
        self.name = ExactString(name)
        self.factors = factors
        self.authentication = authentication
    }

    /// Returns whether a request may be made with `token`.
    func accepts(_ token: ActivationRecord.Token) -> Bool { token.isUsable && token.factors.covers(self.factors) }

    /// Returns what makes a token of such factors; `nil` when it is not at hand. No password goes into a token that needs none.
    func authentication(for factors: SignatureType) -> Authentication? {
        guard factors != .possession else { return .possession }
        return SignatureType(self.authentication).covers(factors) ? self.authentication : nil
    }
}

extension SignatureType {
    /// Returns whether these are all of `other` at least.
    func covers(_ other: Self) -> Bool { Set(other.factors).isSubset(of: self.factors) }
}

extension ActivationRecord.Token {
    /// Indicates whether its identifier has the form of one: it goes into a header.
    var isUsable: Bool { UUIDString.isValid(self.id) }
}

extension MobileTokenError {
    static var tokenNeedsFactors: Self {
        Self(
            .invalidAuthentication,
            "The token must be made with more factors than are at hand: requestToken(_:with:) makes it"
        )
    }

    /// Returns the error of a refused token that possession would replace by a lesser one.
    static func tokenNotRenewed(_ refusal: Self) -> Self {
        Self(
            refusal.code,
            "The server refused a token that was made with more factors than possession: renewToken(_:with:) makes it anew",
            httpStatus: refusal.httpStatus,
            serverCode: refusal.serverCode,
            underlying: refusal
        )
    }
}
