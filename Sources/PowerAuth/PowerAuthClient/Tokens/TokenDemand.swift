import Basics
import PowerAuthProtocol

/// The token that a request needs, and the factors for creating it.
struct TokenDemand: Sendable {
    let name: ExactString
    let factors: SignatureType
    /// The available factors besides possession.
    private let authentication: Activation.Authentication

    init(_ name: String, _ factors: SignatureType, with authentication: Activation.Authentication) {
        self.name = ExactString(name)
        self.factors = factors
        self.authentication = authentication
    }

    func accepts(_ token: ActivationRecord.Token) -> Bool { token.isUsable && token.factors.covers(self.factors) }

    /// Returns the authentication for creating a token with these factors; `nil` if unavailable. A password is not used for a
    /// token that needs none.
    func authentication(for factors: SignatureType) -> Activation.Authentication? {
        guard factors != .possession else { return .possession }
        return SignatureType(self.authentication).covers(factors) ? self.authentication : nil
    }
}

extension SignatureType {
    /// Returns whether these are all of `other` at least.
    func covers(_ other: Self) -> Bool {
        self == other || other.factors.allSatisfy { self.factors.contains($0) }
    }
}

extension ActivationRecord.Token {
    /// Indicates whether the identifier is well-formed for use in a header.
    var isUsable: Bool { UUIDString.isValid(self.id) }
}

extension MobileTokenError {
    static var tokenNeedsFactors: Self {
        Self(
            .invalidAuthentication,
            "The token must be made with more factors than are at hand: requestToken(_:with:) makes it"
        )
    }

    /// Returns the error of a refused token that possession would replace by a weaker one.
    static func tokenNotRenewed(_ refusal: Self) -> Self {
        Self(
            .refusalUnproven,
            "The server refused a token that was made with more factors than possession: renewToken(_:with:) makes it anew",
            httpStatus: refusal.httpStatus,
            serverCode: refusal.serverCode,
            underlying: refusal
        )
    }
}
