import EmulatorBackend
import EmulatorMessages

extension ReceivedRequest {
    /// Refuses a body that is not declared as JSON: it is also what a foreign page cannot send unasked.
    func requireJSON() throws(Refusal) {
        guard self.isJSON else { throw .wrongContentType }
    }
}
