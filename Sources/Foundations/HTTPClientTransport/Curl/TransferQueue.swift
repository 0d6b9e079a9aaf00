import Basics

/// Limits the concurrent transfers per host and in total; others wait in order. With libcurl's own limits a waiting transfer
/// holds a handle, and one unresponsive host can block others. Here hosts take turns.
struct TransferQueue<Element> {
    private struct Host {
        var running = 0
        var waiting = FIFO<Element>()

        /// Returns whether the queue was empty.
        mutating func append(_ element: Element) -> Bool {
            defer { self.waiting.append(element) }
            return self.waiting.isEmpty
        }

        mutating func next(limit: Int) -> (element: Element?, hasMore: Bool) {
            guard self.running < limit, let element = self.waiting.popFirst() else {
                return (nil, !self.waiting.isEmpty)
            }
            self.running += 1
            return (element, !self.waiting.isEmpty)
        }
    }

    private let limitPerHost: Int
    private let limitInTotal: Int
    private var hosts: [String: Host] = [:]
    /// The hosts with waiting elements, in order of their turns.
    private var turns = FIFO<String>()

    private(set) var running = 0
    private(set) var waiting = 0

    init(limitPerHost: Int, limitInTotal: Int) {
        self.limitPerHost = limitPerHost
        self.limitInTotal = limitInTotal
    }

    mutating func append(_ element: Element, host: String) {
        let isFirst = self.hosts[host, default: Host()].append(element)
        if isFirst { self.turns.append(host) }
        self.waiting += 1
    }

    /// Returns an element that may start now, and counts it as running. Call it until it returns `nil`.
    mutating func next() -> Element? {
        guard self.running < self.limitInTotal else { return nil }
        for _ in 0..<self.turns.count {
            guard let host = self.turns.popFirst() else { return nil }
            let (element, hasMore) = self.hosts[host, default: Host()].next(limit: self.limitPerHost)
            if hasMore { self.turns.append(host) }
            guard let element else { continue }
            self.running += 1
            self.waiting -= 1
            return element
        }
        return nil
    }

    mutating func finish(host: String) {
        guard var entry = self.hosts[host], entry.running > 0 else { return }
        self.running -= 1
        entry.running -= 1
        // Idle hosts are removed.
        self.hosts[host] = entry.running == 0 && entry.waiting.isEmpty ? nil : entry
    }

    mutating func removeWaiting(where shouldRemove: (Element) -> Bool) {
        for (host, var entry) in self.hosts where !entry.waiting.isEmpty {
            entry.waiting.removeAll(where: shouldRemove)
            self.hosts[host] = entry.running == 0 && entry.waiting.isEmpty ? nil : entry
        }
        self.turns.removeAll { self.hosts[$0]?.waiting.isEmpty ?? true }
        self.waiting = self.hosts.values.reduce(0) { $0 + $1.waiting.count }
    }
}
