/// The certainty with which a failed request was not carried out.
package enum RequestFailureKind: Sendable, Hashable {
    /// The server did not carry it out: it said so, or the request never left.
    case refused
    /// The server may have carried it out.
    case unknown
}

extension MobileTokenError {
    /// The kind of failure of the request that this error ended.
    ///
    /// Two things alone are certain: the server's own word, and a request of which no byte was sent. Whoever else answers in the
    /// server's place (a proxy with a page of its own, under whatever status) may do so before or after the server did the work.
    package var failureKind: RequestFailureKind {
        self.isServersRefusal || self.httpStatus == nil && Self.codesOfWhatNeverLeft.contains(self.code)
            ? .refused : .unknown
    }

    /// Indicates whether the server itself refused: in its own envelope, by a code, and not because somebody behind it failed, who may have
    /// done the work.
    package var isServersRefusal: Bool {
        guard let httpStatus, let serverCode, httpStatus < 500, httpStatus != 408 else { return false }
        return !Self.serverCodesOfFailuresBehind.contains(serverCode)
    }

    /// Indicates whether it is an answer in the place of the server's: an error under HTTP, without the server's own envelope.
    package var isPageOfAnother: Bool {
        guard let httpStatus, (400..<500).contains(httpStatus) else { return false }
        return self.serverCode == nil
    }

    /// The codes of transports and of this side for a request of which nothing was sent.
    private static let codesOfWhatNeverLeft: Set<Code> = [
        .noConnection, .tlsFailed, .invalidConfiguration, .signingTurnLost,
    ]

    private static let serverCodesOfFailuresBehind: Set<String> = ["REMOTE_COMMUNICATION_ERROR", "ERROR_GENERIC"]
}
