internal import Foundation

/// Who may use the control plane and the console.
///
/// On loopback everybody on the machine may, but no web page that the developer happens to visit: a foreign page can
/// send requests here, and by pointing its own name at this address even read the answers.
struct ControlAccess: Sendable {
    var isLoopback: Bool
    var user: String
    var password: String

    /// The refusal of a request, or `nil` for one that may pass.
    func refusal(of request: ReceivedRequest) -> ServerResponse? {
        let host = request.header("Host") ?? ""
        if let origin = request.header("Origin"), origin != "http://\(host)", origin != "https://\(host)" {
            return .error(403, code: "ACCESS_DENIED", message: "Pages of other sites may not use the control plane")
        }
        if self.isLoopback {
            guard !Self.isLoopbackName(host) else { return nil }
            return .error(403, code: "ACCESS_DENIED", message: "Use the address of the loopback interface")
        }
        guard !self.isAuthenticated(request) else { return nil }
        var response = ServerResponse.error(401, code: "ERR_AUTHENTICATION", message: "Credentials are needed")
        response.headers.append(("WWW-Authenticate", #"Basic realm="Mobile Token Emulator", charset="UTF-8""#))
        return response
    }

    /// - Parameter host: A `Host` field: a name or an address, and perhaps a port.
    static func isLoopbackName(_ host: String) -> Bool {
        var name = host
        if let colon = name.lastIndex(of: ":"), !name.hasSuffix("]") { name = String(name[..<colon]) }
        if ["localhost", "[::1]"].contains(name.lowercased()) { return true }
        let numbers = name.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        return numbers.count == 4 && numbers[0] == 127 && numbers.allSatisfy { $0 != nil }
    }

    private func isAuthenticated(_ request: ReceivedRequest) -> Bool {
        let parts = (request.header("Authorization") ?? "").split(separator: " ")
        guard
            parts.count == 2, parts[0].caseInsensitiveEquals("Basic"),
            let given = Data(base64Encoded: String(parts[1]))
        else { return false }
        return Self.isEqual(Array(given), Array("\(self.user):\(self.password)".utf8))
    }

    /// Takes the same time wherever they differ.
    private static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
