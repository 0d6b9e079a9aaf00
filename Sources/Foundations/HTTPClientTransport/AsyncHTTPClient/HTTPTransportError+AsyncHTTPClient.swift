#if AsyncHTTPClient
    import AsyncHTTPClient
    import NIOCore
    import NIOHTTP1
    import NIOHTTPCompression
    import NIOPosix
    import NIOSSL

    #if canImport(Glibc)
        import Glibc
    #else
        import Musl
    #endif

    extension HTTPTransportError {
        /// Translates an error of AsyncHTTPClient.
        ///
        /// Only what happens before a request can use a connection proves that nothing was sent. All else may have been sent.
        init(asyncHTTPClient error: any Error, _ status: Int?) {
            if let error = error as? Self {
                self = error
                return
            }
            self.init(Self.code(of: error), detail: Self.detail(of: error), httpStatus: status)
        }

        private static func code(of error: any Error) -> Code {
            switch error {
            case let error as HTTPClientError: Self.codes.first { $0.errors.contains(error) }?.code ?? .connectionLost
            case is NIOConnectionError, is SocketAddressError: .connectionFailed
            case ChannelError.connectTimeout: .connectionFailed
            // Of a connection that was made, no call gives it.
            case let error as IOError where error.errnoCode == ECONNREFUSED: .connectionFailed
            case NIOSSLError.handshakeFailed, NIOSSLError.unableToValidateCertificate, is NIOSSLExtraError: .tlsFailed
            case is NIOTooManyBytesError, is NIOHTTPDecompression.DecompressionError: .responseTooLarge
            case HTTPParserError.headerOverflow: .responseTooLarge
            case HTTPParserError.invalidEOFState, HTTPParserError.closedConnection: .connectionLost
            case is HTTPParserError: .invalidResponse
            default: .connectionLost
            }
        }

        private static let codes: [(code: Code, errors: [HTTPClientError])] = [
            (.invalidRequest, [.invalidURL, .emptyHost, .emptyScheme]),
            (
                .connectionFailed,
                [
                    .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout, .socksHandshakeTimeout,
                    .httpProxyHandshakeTimeout, .invalidProxyResponse, .proxyAuthenticationRequired,
                ]
            ),
            (.timeout, [.deadlineExceeded, .readTimeout, .writeTimeout]),
            (.shutdown, [.alreadyShutdown]),
        ]

        /// The error's own words may hold what was received.
        private static func detail(of error: any Error) -> String {
            (error as? HTTPClientError)?.description ?? "\(type(of: error))"
        }
    }
#endif
