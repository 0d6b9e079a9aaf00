import CCurl

/// A request's header lines as libcurl's chain of C strings. libcurl reads the chain during the transfer but does not own it. The
/// memory is reused, so headers cost only a copy of their bytes.
struct HeaderList: ~Copyable {
    private var nodes = UnsafeMutableBufferPointer<curl_slist>.allocate(capacity: 16)
    private var characters = UnsafeMutableBufferPointer<CChar>.allocate(capacity: 1024)

    deinit {
        self.nodes.deallocate()
        self.characters.deallocate()
    }

    /// Replaces the lines, and returns the first one. The chain is valid until the next call.
    mutating func set(_ headers: HTTPHeaders) -> UnsafeMutablePointer<curl_slist>? {
        // libcurl would wait for `100 Continue` before a long body, and label every body as a form.
        let removals: [StaticString] = headers["Content-Type"] == nil ? ["Expect:", "Content-Type:"] : ["Expect:"]
        let characterCount =
            removals.reduce(0) { $0 + $1.utf8CodeUnitCount + 1 }
            + headers.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 3 }
        self.reserve(nodeCount: removals.count + headers.fields.count, characterCount: characterCount)

        var writer = Writer(nodes: self.nodes, characters: self.characters)
        for line in removals {
            writer.beginLine()
            line.withUTF8Buffer { writer.append($0) }
            writer.endLine()
        }
        for field in headers.fields {
            writer.beginLine()
            writer.append(field.name)
            // `name:` would remove a header of libcurl; `name;` sends an empty one.
            writer.append(field.value.isEmpty ? ";" : ": ")
            writer.append(field.value)
            writer.endLine()
        }
        return self.nodes.baseAddress
    }

    private mutating func reserve(nodeCount: Int, characterCount: Int) {
        if self.nodes.count < nodeCount {
            self.nodes.deallocate()
            self.nodes = .allocate(capacity: nodeCount)
        }
        if self.characters.count < characterCount {
            self.characters.deallocate()
            self.characters = .allocate(capacity: characterCount)
        }
    }

    private struct Writer {
        let nodes: UnsafeMutableBufferPointer<curl_slist>
        let characters: UnsafeMutableBufferPointer<CChar>
        private var nodeCount = 0
        private var characterCount = 0

        init(nodes: UnsafeMutableBufferPointer<curl_slist>, characters: UnsafeMutableBufferPointer<CChar>) {
            self.nodes = nodes
            self.characters = characters
        }

        mutating func beginLine() {
            guard let nodes = self.nodes.baseAddress, let characters = self.characters.baseAddress else { return }
            (nodes + self.nodeCount).initialize(to: curl_slist(data: characters + self.characterCount, next: nil))
            if self.nodeCount > 0 { self.nodes[self.nodeCount - 1].next = nodes + self.nodeCount }
            self.nodeCount += 1
        }

        mutating func append(_ part: String) {
            var part = part
            part.withUTF8 { self.append($0) }
        }

        mutating func append(_ part: UnsafeBufferPointer<UInt8>) {
            UnsafeMutableRawBufferPointer(
                rebasing: UnsafeMutableRawBufferPointer(self.characters)[self.characterCount...]
            )
            .copyMemory(from: UnsafeRawBufferPointer(part))
            self.characterCount += part.count
        }

        mutating func endLine() {
            self.characters[self.characterCount] = 0
            self.characterCount += 1
        }
    }
}
