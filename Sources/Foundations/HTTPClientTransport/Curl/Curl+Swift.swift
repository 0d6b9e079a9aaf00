import Basics
import CCurl

extension HTTPTransportError {
    /// Creates an error from libcurl's code. The detail is libcurl's fixed message, without data of the request.
    init(_ code: CURLcode, httpStatus: Int? = nil) {
        let kind: Code =
            switch code {
            case CURLE_URL_MALFORMAT, CURLE_LOGIN_DENIED:
                .invalidRequest
            case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_PROXY,
                CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT:
                .connectionFailed
            case CURLE_OPERATION_TIMEDOUT:
                .timeout
            case CURLE_FILESIZE_EXCEEDED:
                .responseTooLarge
            // The scheme was checked before, so the response starts with an unknown HTTP version.
            case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING,
                CURLE_WRITE_ERROR:
                .invalidResponse
            case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_CERTPROBLEM,
                CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION, CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_INITFAILED,
                CURLE_SSL_CACERT_BADFILE, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
                CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
                .tlsFailed
            default:
                .connectionLost
            }
        self.init(kind, detail: String(cString: curl_easy_strerror(code)), httpStatus: httpStatus)
    }
}

extension EasyHandle {
    static let libraryVersion = "libcurl/" + String(cString: curl_version_info(CURLVERSION_FIRST).pointee.version)
}

extension Duration {
    /// The duration in milliseconds, rounded up and saturating.
    var roundedUpMilliseconds: Int {
        let (seconds, attoseconds) = self.bounded.components
        guard seconds < Int64(Int32.max) / 1000 else { return Int(Int32.max) }
        return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
