import CCurl

/// A curl easy handle: configured once, then used for one transfer after another.
///
/// Belongs to the engine's thread, as do the callbacks in here.
final class EasyHandle {
    /// libcurl's handle, which is also the key to find this object by.
    let curl: UnsafeMutableRawPointer
    /// The current transfer.
    private(set) var transfer: Transfer?

    private let configuration: CurlTransport.Configuration
    private var collector: ResponseCollector
    private var headers = HeaderList()
    /// The number of times that libcurl began to send the request.
    private var attempts = 0
    private var wasRepeatRefused = false
    private var wasTooLate = false

    /// Indicates whether the handle may serve another transfer: libcurl counts repeats over the whole life of a handle, and gives
    /// up at the fifth.
    var isReusable: Bool { self.attempts <= 1 }

    /// Indicates whether the server may have seen some of the request: libcurl had a connection, and was let go ahead.
    var mayHaveSent: Bool { self.attempts > 0 && !self.wasTooLate }

    /// Creates a handle with every option that stays the same from one request to the next.
    ///
    /// - Throws: ``HTTPTransportError/Code/invalidConfiguration`` for an option that this libcurl does not take.
    init(configuration: CurlTransport.Configuration) throws(HTTPTransportError) {
        guard let curl = curl_easy_init() else {
            throw HTTPTransportError(.connectionFailed, detail: "out of memory")
        }
        self.curl = curl
        self.configuration = configuration
        self.collector = Self.makeCollector(configuration)
        try self.applyConfiguration()
        self.installCallbacks()
    }

    deinit { curl_easy_cleanup(self.curl) }

    /// Returns the object of libcurl's handle.
    static func of(_ curl: UnsafeMutableRawPointer) -> EasyHandle? {
        var pointer: UnsafeMutableRawPointer?
        guard CCurl_easy_get_pointer(curl, CURLINFO_PRIVATE, &pointer) == CURLE_OK, let pointer else { return nil }
        return Unmanaged<EasyHandle>.fromOpaque(pointer).takeUnretainedValue()
    }
}

// MARK: - One transfer

extension EasyHandle {
    /// Sets every option that differs from request to request.
    func prepare(_ transfer: Transfer, timeLeft: Duration) throws(HTTPTransportError) {
        let request = transfer.request
        self.transfer = transfer
        self.attempts = 0
        self.wasRepeatRefused = false
        self.wasTooLate = false
        self.collector = Self.makeCollector(self.configuration)
        var result = CCurl_easy_set_string(self.curl, CURLOPT_URL, request.url)
        // With TLS the handshake tells whether one connection takes them all, which is worth waiting for. Without it a whole
        // exchange would have to end first.
        CCurl_easy_set_long(self.curl, CURLOPT_PIPEWAIT, request.url.utf8.starts(with: "https:".utf8) ? 1 : 0)
        // A timeout of zero would mean none.
        let milliseconds = max(1, timeLeft.roundedUpMilliseconds)
        CCurl_easy_set_long(self.curl, CURLOPT_TIMEOUT_MS, milliseconds)

        if request.body == nil, request.method == .get || request.method == .delete {
            CCurl_easy_set_long(self.curl, CURLOPT_HTTPGET, 1)
        } else {
            // libcurl copies the bytes, so nothing here must outlive the transfer.
            let body = request.body ?? []
            CCurl_easy_set_long(self.curl, CURLOPT_POST, 1)
            CCurl_easy_set_offset(self.curl, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
            let copied = body.withUnsafeBytes {
                CCurl_easy_set_pointer(self.curl, CURLOPT_COPYPOSTFIELDS, $0.baseAddress ?? UnsafeRawPointer(self.curl))
            }
            if result == CURLE_OK { result = copied }
        }
        let isOwnVerb = request.method == (request.body == nil ? .get : .post)
        CCurl_easy_set_string(self.curl, CURLOPT_CUSTOMREQUEST, isOwnVerb ? nil : request.method.rawValue)
        CCurl_easy_set_list(self.curl, CURLOPT_HTTPHEADER, self.headers.set(request.headers))
        guard result == CURLE_OK else { throw HTTPTransportError(.connectionFailed, detail: "out of memory") }
    }

    /// Releases the transfer, and returns its result.
    func finish(_ code: CURLcode) -> Result<HTTPResponse, HTTPTransportError> {
        defer { self.letGo() }
        switch self.collector.overflow {
        case .headers:
            return .failure(HTTPTransportError(.responseTooLarge, detail: "the headers are longer than allowed"))
        case .body:
            return .failure(
                HTTPTransportError(
                    .responseTooLarge,
                    detail: "the body is longer than allowed",
                    httpStatus: self.collector.receivedStatus
                )
            )
        case nil:
            break
        }
        if self.wasRepeatRefused {
            let detail = "a reused connection broke; the server may have received the request, so it was not sent again"
            return .failure(HTTPTransportError(.connectionLost, detail: detail))
        }
        if self.wasTooLate {
            return .failure(HTTPTransportError(.tooLate, detail: "its time had passed before it could be sent"))
        }
        guard code == CURLE_OK else {
            let error = HTTPTransportError(code, httpStatus: self.collector.receivedStatus)
            return .failure(self.mayHaveSent ? error.afterFirstByte : error.beforeFirstByte)
        }
        guard let response = self.collector.response() else {
            return .failure(HTTPTransportError(.connectionLost, detail: "the connection ended within the head"))
        }
        return .success(response)
    }

    /// Releases a transfer whose caller no longer waits.
    func abandon() { self.letGo() }

    /// Frees what a transfer used. An idle handle may wait for hours, and there may be hundreds.
    private func letGo() {
        self.transfer = nil
        self.collector = Self.makeCollector(self.configuration)
        // libcurl frees its copy of the body. Without a body it would call a function for one, but nothing is sent before
        // the next request is prepared.
        CCurl_easy_set_pointer(self.curl, CURLOPT_POSTFIELDS, nil)
    }

    private static func makeCollector(_ configuration: CurlTransport.Configuration) -> ResponseCollector {
        ResponseCollector(
            maximumHeaderSize: configuration.maximumHeaderSize,
            maximumBodySize: configuration.maximumResponseSize
        )
    }

    /// Returns whether libcurl may begin to send the request, now that it has a connection.
    ///
    /// When a reused connection ends before a byte of the response came, libcurl takes a fresh one and sends the request
    /// again, which may deliver it twice: the server may have read it before the connection broke. That is left to
    /// libcurl only while nothing of the request has left this machine, or when a copy does no harm.
    private func mayBeginAttempt() -> Bool {
        self.attempts += 1
        var sent = 0
        let isUnsent =
            self.attempts == 1
            || CCurl_easy_get_long(self.curl, CURLINFO_REQUEST_SIZE, &sent) == CURLE_OK && sent == 0
        guard isUnsent || self.transfer?.request.isRepeatable == true else {
            self.wasRepeatRefused = true
            return false
        }
        guard let notAfter = self.transfer?.request.notAfter, .now >= notAfter else { return true }
        self.wasTooLate = isUnsent
        self.wasRepeatRefused = !isUnsent
        return false
    }
}

// MARK: - Options of all transfers

extension EasyHandle {
    private func applyConfiguration() throws(HTTPTransportError) {
        let configuration = self.configuration
        try self.set(CURLOPT_NOSIGNAL, 1)
        // Otherwise giving up a name that is still being resolved would block the engine until the resolver returns.
        try self.set(CURLOPT_QUICK_EXIT, 1)
        try self.set(CURLOPT_PROTOCOLS_STR, "http,https")
        try self.set(CURLOPT_FOLLOWLOCATION, 0)
        try self.set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        try self.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        try self.set(CURLOPT_USERAGENT, configuration.userAgent.value)
        try self.set(CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.roundedUpMilliseconds)
        try self.set(CURLOPT_MAXAGE_CONN, configuration.idleConnectionLifetime.roundedUpMilliseconds / 1000)
        try self.set(CURLOPT_MAXLIFETIME_CONN, configuration.maximumConnectionAge.roundedUpMilliseconds / 1000)
        CCurl_easy_set_offset(self.curl, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(configuration.maximumResponseSize))
        if configuration.acceptsCompression { try self.set(CURLOPT_ACCEPT_ENCODING, "") }

        switch configuration.proxy.kind {
        case .none: try self.set(CURLOPT_PROXY, "")
        case .environment: break
        case .url(let url): try self.set(CURLOPT_PROXY, url)
        }
        try self.applyTLS(configuration.tls)
    }

    private func applyTLS(_ tls: CurlTransport.TLS) throws(HTTPTransportError) {
        try self.set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        switch tls.validation.kind {
        case .system:
            break
        case .certificateAuthority(let file):
            try self.set(CURLOPT_CAINFO, file)
        case .noValidation:
            try self.set(CURLOPT_SSL_VERIFYPEER, 0)
            try self.set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        if !tls.pinnedPublicKeys.isEmpty {
            try self.set(CURLOPT_PINNEDPUBLICKEY, tls.pinnedPublicKeys.joined(separator: ";"))
        }
        if let certificate = tls.clientCertificate {
            try self.set(CURLOPT_SSLCERT, certificate.certificateFile)
            try self.set(CURLOPT_SSLKEY, certificate.privateKeyFile)
            if let password = certificate.password { try self.set(CURLOPT_KEYPASSWD, password) }
        }
    }

    /// Callbacks get this object unretained: libcurl calls them only while the engine, which owns it, drives the handle.
    private func installCallbacks() {
        let this = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        for option in [CURLOPT_PRIVATE, CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA] {
            CCurl_easy_set_pointer(self.curl, option, this)
        }
        CCurl_easy_set_data_function(self.curl, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            guard let context else { return 0 }
            let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
            let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            return handle.collector.appendHeaderLine(line) ? line.count : 0
        }
        CCurl_easy_set_data_function(self.curl, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            guard let context else { return 0 }
            let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
            let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            return handle.collector.appendBody(part) ? part.count : 0
        }
        CCurl_easy_set_prereq_function(self.curl) { context, _, _, _, _ in
            guard let context else { return CURL_PREREQFUNC_ABORT }
            let handle = Unmanaged<EasyHandle>.fromOpaque(context).takeUnretainedValue()
            return handle.mayBeginAttempt() ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
        }
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPTransportError) {
        try Self.check(CCurl_easy_set_long(self.curl, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(HTTPTransportError) {
        try Self.check(CCurl_easy_set_string(self.curl, option, value))
    }

    private static func check(_ code: CURLcode) throws(HTTPTransportError) {
        guard code == CURLE_OK else {
            throw HTTPTransportError(.invalidConfiguration, detail: String(cString: curl_easy_strerror(code)))
        }
    }
}
