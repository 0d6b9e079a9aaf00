import CCurl

/// A curl easy handle: configured once, used for consecutive transfers. It and its callbacks belong to the engine's thread.
final class EasyHandle {
    /// libcurl's handle, which identifies this object.
    let curl: UnsafeMutableRawPointer
    private(set) var transfer: Transfer?

    private let configuration: CurlTransport.Configuration
    private var collector: ResponseCollector
    private var headers = HeaderList()
    /// The number of times that libcurl began to send the request.
    private var attempts = 0
    private var wasRepeatRefused = false
    private var wasTooLate = false

    /// Indicates whether the handle may be reused: libcurl counts a handle's retries forever, and gives up at the fifth.
    var isReusable: Bool { self.attempts <= 1 }

    /// Indicates whether a part of the request may have been sent: libcurl had a connection and permission.
    var mayHaveSent: Bool { self.attempts > 0 && !self.wasTooLate }

    /// Creates a handle with all constant options.
    ///
    /// - Throws: ``HTTPTransportError/Code/invalidConfiguration`` for an option that this libcurl rejects.
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

    /// Returns the object for libcurl's handle.
    static func of(_ curl: UnsafeMutableRawPointer) -> EasyHandle? {
        var pointer: UnsafeMutableRawPointer?
        guard CCurl_easy_get_pointer(curl, CURLINFO_PRIVATE, &pointer) == CURLE_OK, let pointer else { return nil }
        return Unmanaged<EasyHandle>.fromOpaque(pointer).takeUnretainedValue()
    }
}

// MARK: - One transfer

extension EasyHandle {
    /// Sets the options of one request.
    func prepare(_ transfer: Transfer, timeLeft: Duration) throws(HTTPTransportError) {
        let request = transfer.request
        self.transfer = transfer
        self.attempts = 0
        self.wasRepeatRefused = false
        self.wasTooLate = false
        self.collector = Self.makeCollector(self.configuration)
        var result = CCurl_easy_set_string(self.curl, CURLOPT_URL, request.url)
        // With TLS the handshake reveals whether one connection can carry all requests, which is worth the wait. Without it a
        // whole exchange would have to end first.
        CCurl_easy_set_long(self.curl, CURLOPT_PIPEWAIT, request.url.utf8.starts(with: "https:".utf8) ? 1 : 0)
        // Zero would mean no timeout.
        let milliseconds = max(1, timeLeft.roundedUpMilliseconds)
        CCurl_easy_set_long(self.curl, CURLOPT_TIMEOUT_MS, milliseconds)

        if request.body == nil, request.method == .get || request.method == .delete {
            CCurl_easy_set_long(self.curl, CURLOPT_HTTPGET, 1)
        } else {
            // libcurl copies the bytes, so nothing must outlive the transfer.
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

    /// Ends the transfer, and returns its result.
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
            return .failure(self.mayHaveSent ? error.afterFirstByte : error.beforeFirstByte(self.proxyStatus))
        }
        guard let response = self.collector.response() else {
            return .failure(HTTPTransportError(.connectionLost, detail: "the connection ended within the head"))
        }
        return .success(response)
    }

    /// The HTTP status of a proxy that refused the tunnel; `nil` if none did.
    private var proxyStatus: Int? {
        var status = 0
        let isKnown = CCurl_easy_get_long(self.curl, CURLINFO_HTTP_CONNECTCODE, &status) == CURLE_OK
        return isKnown && status != 0 && !(200..<300).contains(status) ? status : nil
    }

    /// Ends a transfer without a waiting caller.
    func abandon() { self.letGo() }

    /// Frees a transfer's memory. There may be hundreds of idle handles for hours.
    private func letGo() {
        self.transfer = nil
        self.collector = Self.makeCollector(self.configuration)
        // Frees libcurl's copy of the body. Without a body libcurl would use a callback, but nothing is sent before the next
        // request is prepared.
        CCurl_easy_set_pointer(self.curl, CURLOPT_POSTFIELDS, nil)
    }

    private static func makeCollector(_ configuration: CurlTransport.Configuration) -> ResponseCollector {
        ResponseCollector(
            maximumHeaderSize: configuration.maximumHeaderSize,
            maximumBodySize: configuration.maximumResponseSize
        )
    }

    /// Returns whether libcurl may begin to send the request on its connection. If a reused connection breaks before the
    /// response, libcurl sends the request again on a new one, which may deliver it twice. That is allowed only if nothing was
    /// sent or the request is repeatable.
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
        // Otherwise cancellation during name resolution would block the engine until the resolver returns.
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

    /// Callbacks get this object unretained: libcurl calls them only while its owner, the engine, drives the handle.
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
