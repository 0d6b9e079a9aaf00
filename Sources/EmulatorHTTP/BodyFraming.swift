import Basics
import EmulatorMessages

extension ReceivedRequest {
    /// Indicates whether there is one reading only of where the body ends.
    ///
    /// The library takes the first of several lengths, leaves a length aside when there are chunks, and does not see a
    /// field whose name ends in a blank. A proxy in front of the server, or a reader of its logs, may see such a
    /// request another way, and what is the body to one of them is the next request to the other.
    var isFramedUnambiguously: Bool {
        let lengths = Set(self.values(of: "Content-Length"))
        let codings = self.values(of: "Transfer-Encoding")
        guard self.headers.allSatisfy({ $0.name.utf8.allSatisfy(\.isHTTPNameCharacter) }), lengths.count <= 1 else {
            return false
        }
        return codings.isEmpty || codings.count == 1 && codings[0].equalsIgnoringASCIICase("chunked") && lengths.isEmpty
    }

    private func values(of name: String) -> [String] {
        self.headers.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }
}
