import Basics
import EmulatorMessages

extension ReceivedRequest {
    /// Indicates whether the end of the body is unambiguous.
    ///
    /// The library takes the first of several lengths, ignores a length if there are chunks, and overlooks a field name that ends
    /// with a space. A proxy or a log reader may read such a request differently: one's body is the other's next request.
    var isFramedUnambiguously: Bool {
        let lengths = self.values(of: "Content-Length")
        let codings = self.values(of: "Transfer-Encoding")
        guard self.headers.allSatisfy({ $0.name.utf8.allSatisfy(\.isHTTPNameCharacter) }),
            lengths.dropFirst().allSatisfy({ $0 == lengths[0] })
        else { return false }
        return codings.isEmpty || codings.count == 1 && codings[0].equalsIgnoringASCIICase("chunked") && lengths.isEmpty
    }

    private func values(of name: String) -> [String] {
        self.headers.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }
}
