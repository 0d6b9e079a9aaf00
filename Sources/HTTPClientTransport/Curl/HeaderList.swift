import CCurl

/// The header lines of a request in the form that libcurl takes: a chain of C strings.
///
/// libcurl reads the chain during the whole transfer and leaves it to its owner. Chain and text keep their memory from one
/// request to the next, so that a request's headers cost a copy of their bytes.
struct HeaderList: ~Copyable {
    private var nodes = UnsafeMutableBufferPointer<curl_slist>.allocate(capacity: 16)
    private var text = UnsafeMutableBufferPointer<CChar>.allocate(capacity: 1024)

    deinit {
        self.nodes.deallocate()
        self.text.deallocate()
    }

    /// Replaces the lines, and returns the first. The chain is valid until the next call.
    mutating func set(_ headers: HTTPHeaders) -> UnsafeMutablePointer<curl_slist>? {
        // libcurl would wait for `100 Continue` before a long body, and call every body a form.
        let removals: [StaticString] = headers["Content-Type"] == nil ? ["Expect:", "Content-Type:"] : ["Expect:"]
        let textCount =
            removals.reduce(0) { $0 + $1.utf8CodeUnitCount + 1 }
            + headers.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 3 }
        self.reserve(nodeCount: removals.count + headers.fields.count, textCount: textCount)

        var writer = Writer(nodes: self.nodes, text: self.text)
        for line in removals {
            writer.beginLine()
            line.withUTF8Buffer { writer.append($0) }
            writer.endLine()
        }
        for field in headers.fields {
            writer.beginLine()
            writer.append(field.name)
            // `name:` would remove a header of libcurl's own; `name;` sends an empty one.
            writer.append(field.value.isEmpty ? ";" : ": ")
            writer.append(field.value)
            writer.endLine()
        }
        return self.nodes.baseAddress
    }

    private mutating func reserve(nodeCount: Int, textCount: Int) {
        if self.nodes.count < nodeCount {
            self.nodes.deallocate()
            self.nodes = .allocate(capacity: nodeCount)
        }
        if self.text.count < textCount {
            self.text.deallocate()
            self.text = .allocate(capacity: textCount)
        }
    }

    /// Writes into memory that is large enough.
    private struct Writer {
        let nodes: UnsafeMutableBufferPointer<curl_slist>
        let text: UnsafeMutableBufferPointer<CChar>
        private var nodeCount = 0
        private var textCount = 0

        init(nodes: UnsafeMutableBufferPointer<curl_slist>, text: UnsafeMutableBufferPointer<CChar>) {
            self.nodes = nodes
            self.text = text
        }

        mutating func beginLine() {
            guard let nodes = self.nodes.baseAddress, let text = self.text.baseAddress else { return }
            (nodes + self.nodeCount).initialize(to: curl_slist(data: text + self.textCount, next: nil))
            if self.nodeCount > 0 { self.nodes[self.nodeCount - 1].next = nodes + self.nodeCount }
            self.nodeCount += 1
        }

        mutating func append(_ part: String) {
            var part = part
            part.withUTF8 { self.append($0) }
        }

        mutating func append(_ part: UnsafeBufferPointer<UInt8>) {
            UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(self.text)[self.textCount...])
                .copyMemory(from: UnsafeRawBufferPointer(part))
            self.textCount += part.count
        }

        mutating func endLine() {
            self.text[self.textCount] = 0
            self.textCount += 1
        }
    }
}
