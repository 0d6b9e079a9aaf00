import EmulatorMessages
import PowerAuthProtocol

extension Backend {
    /// Returns what a wrong code would be right for: a client may have signed its data under another name, with another
    /// factor, or in the other order of signing and encrypting.
    ///
    /// - Parameter isNear: `true` if a component of the code matches: the data are the right ones then.
    func hint(
        from trial: CodeTrial,
        isNear: Bool,
        _ cover: CodeCover,
        _ context: inout RequestContext
    ) -> String? {
        if let type = trial.rightType { return "it is right for \(type.rawValue)" }
        guard !isNear else { return nil }
        let own = cover.plaintext ?? context.request.body
        if let uriID = trial.rightURIIdentifier(of: context.request, own) {
            return "it is right for the URI identifier \(uriID)"
        }
        guard let (other, advice) = self.otherOrder(cover, &context),
            let uriID = trial.rightURIIdentifier(of: context.request, other)
        else { return nil }
        return "it is right for \(advice) (URI identifier \(uriID))"
    }

    /// The data that a client signs which signs and encrypts in the other order, and a word on that.
    private func otherOrder(
        _ cover: CodeCover,
        _ context: inout RequestContext
    ) -> (bytes: [UInt8], advice: String)? {
        if cover.plaintext != nil {
            return (context.request.body, "the envelope as it was sent; here the content is signed, then encrypted")
        }
        guard let peek = cover.peek, let plaintext = peek(self, &context) else { return nil }
        return (plaintext, "the content of the envelope; here the content is encrypted, then the envelope is signed")
    }
}

/// A code that is tried on other data than those it should be of.
struct CodeTrial {
    let code: CodeToVerify
    /// The name of the endpoint that was called.
    let uriID: String
    let request: RequestCode
    let activation: ServerActivation
    let lookAhead: Int

    /// Another type that the code is right for.
    var rightType: SignatureType? {
        SignatureType.allCases.first { type in
            type != self.code.type && type.factors.count == self.code.type.factors.count
                && self.isRight(CodeToVerify(form: self.code.form, type: type, data: self.code.data))
        }
    }

    /// Returns a name of an endpoint that the code is right for, with these bytes as the body.
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
