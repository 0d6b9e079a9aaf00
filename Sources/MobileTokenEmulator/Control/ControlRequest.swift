import EmulatorBackend
import EmulatorMessages

extension ReceivedRequest {
    /// Refuses a body that is not declared as JSON: it is also what a foreign page cannot send unasked.
    func requireJSON() throws(Refusal) {
        guard self.isJSON else { throw .wrongContentType }
    }

    func number(_ name: String, in range: ClosedRange<Int>) throws(Refusal) -> Int? {
        guard let value = self.queryValue(name) else { return nil }
        guard let number = Int(value), range.contains(number) else {
            throw Refusal(400, "INVALID_REQUEST", "'\(name)' is not \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
