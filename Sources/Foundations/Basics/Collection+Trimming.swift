extension BidirectionalCollection {
    /// Returns the elements without those at both ends that satisfy `isTrimmed`.
    @inlinable public func trimming(while isTrimmed: (Element) -> Bool) -> SubSequence {
        guard let first = self.firstIndex(where: { !isTrimmed($0) }),
            let last = self.lastIndex(where: { !isTrimmed($0) })
        else { return self[self.endIndex...] }
        return self[first...last]
    }
}
