import Basics
import CommandLineSupport
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import PowerAuthClient

/// A running development server, for the commands that drive it.
struct RemoteServer: Sendable {
    static let options: [Command.Option] = [
        .init("url", "URL", "where it is (default: $MOBILE_TOKEN_URL, else $MOBILE_TOKEN_CLOUD_URL)"),
        .init("cloud-user", "NAME", "the user of its cloud API (default: $MOBILE_TOKEN_CLOUD_USER, else developer)"),
        .init("cloud-password-file", "FILE", "a file with its password (default: $MOBILE_TOKEN_CLOUD_PASSWORD)"),
        .init("ca-file", "FILE", "accept certificates issued by this authority (default: $MOBILE_TOKEN_CA_FILE)"),
        .init("pin", "sha256//KEY", "accept this public key only (default: $MOBILE_TOKEN_PIN)"),
        .init("insecure-http", nil, "allow plain http to another machine"),
    ]

    let baseURL: String
    private let authorization: String?
    private let transport: CurlTransport

    init(_ invocation: Invocation) throws {
        guard
            let url = invocation["url"] ?? Self.environment("URL") ?? Self.environment("CLOUD_URL")
        else { throw invocation.misuse("--url is missing") }
        var configuration = CurlTransport.Configuration()
        configuration.userAgent = .custom("mobile-token-emulator")
        configuration.maximumResponseSize = 1 << 30  // a whole state
        if let file = invocation["ca-file"] ?? Self.environment("CA_FILE") {
            configuration.tls.validation = .certificateAuthority(file: file)
        }
        if let pin = invocation["pin"] ?? Self.environment("PIN") { configuration.tls.pinnedPublicKeys = [pin] }
        do { self.transport = try CurlTransport(configuration: configuration) } catch {
            throw MobileTokenError.transport(error)
        }
        let rule = BaseURLRule(
            allowsInsecureHTTP: invocation.has("insecure-http"),
            requiresTLS: self.transport.requiresTLS
        )
        self.baseURL = try rule.configured(url, "--url")
        let user = invocation["cloud-user"] ?? Self.environment("CLOUD_USER") ?? "developer"
        self.authorization = try Self.password(invocation).map { password in
            "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
        }
    }

    private static func environment(_ name: String) -> String? {
        ProcessInfo.processInfo.environment["MOBILE_TOKEN_\(name)"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the first line of the file, or the variable set by `exec`.
    private static func password(_ invocation: Invocation) throws -> String? {
        guard let file = invocation["cloud-password-file"] else { return Self.environment("CLOUD_PASSWORD") }
        return try SecretFile.firstLine(ofFile: file, naming: "password").withUnsafeBytes { line in
            String(decoding: line, as: UTF8.self)
        }
    }

    // MARK: Requests

    /// Sends a request, and returns the body of the response.
    ///
    /// - Parameters:
    ///   - what: The object that the path names, for the message if there is none.
    /// - Throws: `NotFound` if the server reports that, otherwise ``MobileTokenError``.
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        query: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        timeout: Duration = .seconds(20),
        naming what: String? = nil
    ) async throws -> JSONValue {
        var headers = HTTPHeaders([])
        if let authorization { headers.add(name: "Authorization", value: authorization) }
        if body != nil { headers.add(name: "Content-Type", value: "application/json") }
        let pairs = query.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
        let request = HTTPRequest(
            method,
            url: self.baseURL + "/_emulator" + path + (pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")),
            headers: headers,
            body: body,
            timeout: timeout
        )
        let response: HTTPResponse
        do { response = try await self.transport.send(request) } catch { throw MobileTokenError.transport(error) }
        let json = try? JSONValue(parsing: response.body, limits: JSONLimits(maximumByteCount: 1 << 30))
        guard (200..<300).contains(response.status) else { throw Self.error(response, json, naming: what) }
        guard let json else {
            throw MobileTokenError(.invalidResponse, "The response is not JSON", httpStatus: response.status)
        }
        return json
    }

    /// Sends an object, without its nil members.
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ members: [(String, JSONValue?)],
        naming what: String? = nil
    ) async throws -> JSONValue {
        let object = JSONObject(members.compactMap { name, value in value.map { .init(key: name, value: $0) } })
        return try await self.send(method, path, body: JSONValue.object(object).serialized(), naming: what)
    }

    private static func error(_ response: HTTPResponse, _ json: JSONValue?, naming what: String?) -> any Error {
        let serverCode = json?["responseObject"]?["code"]?.string
        if response.status == 404 || Self.saysNotFound(serverCode), let what { return NotFound(what: what) }
        let code: MobileTokenError.Code
        switch (serverCode, response.status) {
        case ("INVALID_STATE", _) where what?.utf8.starts(with: "operation ".utf8) == true,
            ("ERROR_OPERATION_STATE_CHANGE", _):
            code = .operationAlreadyFinished
        case (_, 401): code = .authenticationFailed
        case (_, 400..<500): code = .invalidRequest
        default: code = .serverError
        }
        return MobileTokenError(
            code,
            json?["responseObject"]?["message"]?.string ?? "The server refused the request",
            httpStatus: response.status,
            serverCode: serverCode
        )
    }

    /// Returns whether a code means "not found"; cloud API calls report that with status 400.
    private static func saysNotFound(_ code: String?) -> Bool {
        ["ERROR_REGISTRATION_NOT_FOUND", "ERROR_OPERATION_NOT_FOUND"].contains(code)
    }
}
