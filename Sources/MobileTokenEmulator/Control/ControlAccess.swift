import APIDescriptions
import Basics
import EmulatorBackend
import EmulatorMessages
import Foundation

/// Access to the control API and the console.
///
/// On loopback every process of the machine may use them, but no web page that the developer happens to visit: a foreign page can
/// send requests here, and by pointing its own name at this address even read the responses. What holds secrets asks for
/// the credentials there too, because others may use the machine.
struct ControlAccess: Sendable {
    var isLoopback: Bool
    var credentials: BasicCredentials?

    /// Refuses a request that may not pass.
    ///
    /// - Parameter access: The access that its route asks for.
    func check(_ request: ReceivedRequest, _ access: RouteDescription.Access) throws(Refusal) {
        guard access != .open else { return }
        let hosts = request.headers.filter { $0.name.equalsIgnoringASCIICase("Host") }.map(\.value)
        let host = hosts.first ?? ""
        guard hosts.count <= 1, !Self.isFromElsewhere(request, host: host) else {
            throw Refusal(403, "ACCESS_DENIED", "Pages of other sites may not use the control API")
        }
        guard !self.isLoopback || Self.isLoopbackName(host) else {
            throw Refusal(403, "ACCESS_DENIED", "Use the address of the loopback interface")
        }
        if self.isLoopback && access != .credentials || self.isAuthenticated(request) { return }
        var refusal = Refusal(401, "ERROR_UNAUTHORIZED", "Credentials are needed")
        // On loopback the console asks for them itself: a browser would interrupt its user as soon as the page is opened.
        let isScript = request.header("Sec-Fetch-Mode").map { $0 != "navigate" } ?? false
        if !self.isLoopback || !isScript {
            refusal.headers.append(("WWW-Authenticate", #"Basic realm="Mobile Token Emulator", charset="UTF-8""#))
        }
        throw refusal
    }

    /// Indicates whether a browser says that a page of another site, or of another port, has sent it.
    ///
    /// To follow a link here from elsewhere is allowed: the other page does not see where it leads.
    private static func isFromElsewhere(_ request: ReceivedRequest, host: String) -> Bool {
        if let origin = request.header("Origin"), origin != "http://\(host)", origin != "https://\(host)" {
            return true
        }
        guard let site = request.header("Sec-Fetch-Site"), site != "same-origin", site != "none" else { return false }
        let isLink =
            request.header("Sec-Fetch-Mode") == "navigate" && request.header("Sec-Fetch-Dest") == "document"
            && request.method == "GET" && ["/console", "/docs"].contains { request.path.utf8.starts(with: $0.utf8) }
        return !isLink
    }

    /// - Parameter host: A `Host` field: a name or an address, and perhaps a port.
    static func isLoopbackName(_ host: String) -> Bool {
        var name = Substring(host).utf8
        if name.last != UInt8(ascii: "]"), let colon = name.lastIndex(of: UInt8(ascii: ":")) { name = name[..<colon] }
        if ["localhost", "[::1]"].contains(where: { Substring(name).equalsIgnoringASCIICase($0) }) { return true }
        let numbers = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { UInt8(Substring($0)) }
        return numbers.count == 4 && numbers[0] == 127 && numbers.allSatisfy { $0 != nil }
    }

    /// Indicates whether a request shows the credentials.
    func isAuthenticated(_ request: ReceivedRequest) -> Bool {
        self.credentials?.areShown(by: request) ?? false
    }
}
