import CCurl

/// The client that our transport is measured against: libcurl's multi interface as its documentation shows it, on one
/// thread, with handles that are configured once and used over and over.
final class BareCurl: @unchecked Sendable {  // the harness runs it once at a time, and nothing else touches it
    private let multi: UnsafeMutableRawPointer?
    private var handles: [UnsafeMutableRawPointer?] = []
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var received = 0

    /// - Parameter headers: The headers of the client that is measured beside it, for the same bytes on the wire.
    init(url: String, headers: [String] = ["Content-Type: application/json"], body: [UInt8], inFlight: Int) {
        self.multi = curl_multi_init()
        for line in headers + ["Expect:"] { self.headers = curl_slist_append(self.headers, line) }
        for _ in 0..<inFlight {
            let handle = curl_easy_init()
            CCurl_easy_set_string(handle, CURLOPT_URL, url)
            CCurl_easy_set_long(handle, CURLOPT_NOSIGNAL, 1)
            CCurl_easy_set_long(handle, CURLOPT_POSTFIELDSIZE_LARGE, body.count)
            CCurl_easy_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, body)
            CCurl_easy_set_list(handle, CURLOPT_HTTPHEADER, self.headers)
            CCurl_easy_set_pointer(handle, CURLOPT_WRITEDATA, Unmanaged.passUnretained(self).toOpaque())
            CCurl_easy_set_data_function(handle, CURLOPT_WRITEFUNCTION) { _, size, count, context in
                guard let context else { return 0 }
                Unmanaged<BareCurl>.fromOpaque(context).takeUnretainedValue().received += size * count
                return size * count
            }
            self.handles.append(handle)
        }
    }

    deinit {
        for handle in self.handles { curl_easy_cleanup(handle) }
        curl_multi_cleanup(self.multi)
        curl_slist_free_all(self.headers)
    }

    /// Sends `count` requests; every answer's body must have as many bytes as expected.
    func run(_ count: Int, expecting size: Int) throws {
        self.received = 0
        var started = 0
        var finished = 0
        for handle in self.handles.prefix(count) {
            curl_multi_add_handle(self.multi, handle)
            started += 1
        }
        while finished < count {
            var running: Int32 = 0
            curl_multi_perform(self.multi, &running)
            var left: Int32 = 0
            while let message = curl_multi_info_read(self.multi, &left) {
                let handle = message.pointee.easy_handle
                try check(message.pointee.data.result == CURLE_OK)
                curl_multi_remove_handle(self.multi, handle)
                finished += 1
                if started < count {
                    curl_multi_add_handle(self.multi, handle)
                    started += 1
                }
            }
            if finished < count, running > 0 { curl_multi_poll(self.multi, nil, 0, 1000, nil) }
        }
        try check(self.received == count * size)
    }
}
