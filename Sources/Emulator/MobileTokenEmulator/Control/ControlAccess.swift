import APIDescriptions
import Basics
import EmulatorBackend
import EmulatorMessages

/// Access to the control API and the console.
///
/// On loopback every process of the machine has access, but no web page that the developer visits: a foreign page can send
/// requests here, and with DNS rebinding even read the responses. Calls that show secrets require the credentials there too,
/// because the machine may have other users.
struct ControlAccess: Sendable {
    var isLoopback: Bool
    var credentials: BasicCredentials?
    /// The address of the proxy before the server, whose pages are the server's own.
    var publicURL: String?

    /// Refuses a request without access.
    ///
    /// - Parameter access: The access that its route requires.
    func check(_ request: ReceivedRequest, _ access: RouteDescription.Access) throws(Refusal) {
        guard access != .open else { return }
        let hosts = request.headers.filter { $0.name.equalsIgnoringASCIICase("Host") }.map(\.value)
        let host = hosts.first ?? ""
        guard hosts.count <= 1, !self.isFromElsewhere(request, host: host) else {
            throw Refusal(403, "ACCESS_DENIED", "Pages of other sites may not use the control API")
        }
        guard !self.isLoopback || Self.isLoopbackName(host) else {
            throw Refusal(403, "ACCESS_DENIED", "Use the address of the loopback interface")
        }
        if self.isLoopback && access != .credentials || self.isAuthenticated(request) { return }
        var refusal = Refusal(401, "ERROR_UNAUTHORIZED", "Credentials are needed")
        // On loopback the console itself asks for them: a browser's dialog would interrupt the user as soon as the page opens.
        let isScript = request.header("Sec-Fetch-Mode").map { $0 != "navigate" } ?? false
        if !self.isLoopback || !isScript {
            refusal.headers.append(("WWW-Authenticate", #"Basic realm="Mobile Token Emulator", charset="UTF-8""#))
        }
        throw refusal
    }

    /// Returns the host name and optional port by which a client reached the server; `nil` if it is unsafe to repeat.
    func host(of request: ReceivedRequest) -> String? {
        let hosts = request.headers.filter { $0.name.equalsIgnoringASCIICase("Host") }.map(\.value)
        guard hosts.count == 1, let host = hosts.first, (1...255).contains(host.utf8.count) else { return nil }
        guard !self.isLoopback || Self.isLoopbackName(host) else { return nil }
        // Names, addresses and ports have only these characters; others could lead an address elsewhere.
        let isPlain = host.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || ".-_:[]".utf8.contains($0) }
        return isPlain ? host : nil
    }

    /// Indicates whether, according to the browser, a page of another site or port sent the request.
    ///
    /// Following a link from another page is allowed: that page cannot read the result.
    private func isFromElsewhere(_ request: ReceivedRequest, host: String) -> Bool {
        if let origin = request.header("Origin"), origin != "http://\(host)", origin != "https://\(host)",
            self.publicURL.map({ "\($0)/".utf8.starts(with: "\(origin)/".utf8) }) != true
        {
            return true
        }
        guard let site = request.header("Sec-Fetch-Site"), site != "same-origin", site != "none" else { return false }
        let isLink =
            request.header("Sec-Fetch-Mode") == "navigate" && request.header("Sec-Fetch-Dest") == "document"
            && request.method == "GET" && ["/console", "/docs"].contains { request.path.utf8.starts(with: $0.utf8) }
        return !isLink
    }

    /// - Parameter host: A `Host` field: a name or an address, with an optional port.
    static func isLoopbackName(_ host: String) -> Bool {
        var name = Substring(host).utf8
        if name.last != UInt8(ascii: "]"), let colon = name.lastIndex(of: UInt8(ascii: ":")) { name = name[..<colon] }
        if ["localhost", "[::1]"].contains(where: { Substring(name).equalsIgnoringASCIICase($0) }) { return true }
        let numbers = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            .map { UInt8(Substring($0)) }
        return numbers.count == 4 && numbers[0] == 127 && numbers.allSatisfy { $0 != nil }
    }

    func isAuthenticated(_ request: ReceivedRequest) -> Bool {
        self.credentials?.areShown(by: request) ?? false
    }
}
