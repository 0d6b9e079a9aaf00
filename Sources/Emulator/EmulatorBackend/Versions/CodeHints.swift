import EmulatorMessages
import PowerAuthProtocol

extension Backend {
    /// Returns a request for which an invalid code would be valid: with another name or factor, or the other order of signing and
    /// encrypting.
    ///
    /// - Parameter isNear: `true` if a component of the code matches, so that the data are correct.
    func hint(
        from probe: SignatureProbe,
        isNear: Bool,
        _ cover: SignedPayload,
        _ context: inout RequestContext
    ) -> String? {
        if let type = probe.rightType { return "it is right for \(type.rawValue)" }
        guard !isNear else { return nil }
        let own = cover.plaintext ?? context.request.body
        if let uriID = probe.rightURIIdentifier(of: context.request, own) {
            return "it is right for the URI identifier \(uriID)"
        }
        guard let (other, advice) = self.otherOrder(cover, &context),
            let uriID = probe.rightURIIdentifier(of: context.request, other)
        else { return nil }
        return "it is right for \(advice) (URI identifier \(uriID))"
    }

    /// Returns the data signed by a client that signs and encrypts in the other order, with a description.
    private func otherOrder(
        _ cover: SignedPayload,
        _ context: inout RequestContext
    ) -> (bytes: [UInt8], advice: String)? {
        if cover.plaintext != nil {
            return (context.request.body, "the envelope as it was sent; here the content is signed, then encrypted")
        }
        guard let peek = cover.peek, let plaintext = peek(self, &context) else { return nil }
        return (plaintext, "the content of the envelope; here the content is encrypted, then the envelope is signed")
    }
}

/// A code to try on other data than its expected ones.
struct SignatureProbe {
    let code: CodeToVerify
    /// The name of the called endpoint.
    let uriID: String
    let request: RequestCode
    let activation: ServerActivation
    let lookAhead: Int

    /// Another type for which the code is valid.
    var rightType: SignatureType? {
        SignatureType.allCases.first { type in
            type != self.code.type && type.factors.count == self.code.type.factors.count
                && self.isRight(CodeToVerify(form: self.code.form, type: type, data: self.code.data))
        }
    }

    /// Returns the name of an endpoint for which the code is valid with this body.
    func rightURIIdentifier(of received: ReceivedRequest, _ body: [UInt8]) -> String? {
        ([self.uriID] + RequestCode.uriIDs).first { uriID in
            guard let data = Backend.signedData(of: received, body, uriID: uriID, nonce: self.request.nonce),
                data != self.code.data
            else { return false }
            return self.isRight(CodeToVerify(form: self.code.form, type: self.code.type, data: data))
        }
    }

    private func isRight(_ code: CodeToVerify) -> Bool {
        var trial = self.activation
        guard case .accepted = trial.verify(code, of: self.request.version, lookAhead: self.lookAhead) else {
            return false
        }
        return true
    }
}
