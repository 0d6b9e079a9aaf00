import EmulatorMessages
import ExactJSON
import Foundation

@testable import EmulatorBackend
@testable import MobileTokenEmulator
@testable import PowerAuth
@testable import PowerAuthClient

let oidcTargets = [
    // A line that says what the provider's redirect address is, then the address that the browser was led to. What does not
    // show the state must leave the attempt as it was.
    FuzzTarget("oidc-callback") { input in
        var reader = InputReader(input)
        let (redirect, callback) = (reader.line(), Array(reader.rest).text)
        var attempt = OIDCAttempt(try OIDCFixture.configuration(redirect: redirect), randomness: OIDCFixture.randomness)
        guard let own = OIDCFixture.callback(of: attempt) else { return hold(false, "its address has no state") }
        let isLeftAlone: Bool
        do throws(MobileTokenError) {
            let credentials = try attempt.accept(callback)
            hold(credentials.code.withUnsafeBytes { $0.allSatisfy { 0x20...0x7E ~= $0 } }, "no code of RFC 6749")
            hold(callback.utf8.starts(with: redirect.utf8), "of another address")
            isLeftAlone = false
        } catch {
            hold(!error.description.isEmpty, "no description")
            isLeftAlone = [.oidcRedirectMismatch, .oidcStateMismatch].contains(error.code)
        }
        let accepted = try? attempt.accept(own + "&code=c")
        // A parameter that stands twice is an error of its own, before the state is looked at or after it.
        if isLeftAlone { hold(accepted != nil, "an address of another attempt has used this one up") }
        hold((try? attempt.accept(own + "&code=c")) == nil, "used twice")
    },
    // The same, with the right address and state before what the fuzzer adds.
    FuzzTarget("oidc-answer") { input in
        var attempt = OIDCAttempt(try OIDCFixture.configuration(), randomness: OIDCFixture.randomness)
        guard let own = OIDCFixture.callback(of: attempt) else { return hold(false, "its address has no state") }
        do throws(MobileTokenError) {
            let credentials = try attempt.accept(own + "&" + input.text)
            hold(input.text.utf8.count >= credentials.code.count, "a code from nowhere")
        } catch {
            hold(error.code != .oidcRedirectMismatch, "the address is its own")
            hold((error.serverCode?.unicodeScalars.count ?? 0) <= 64, "longer than is shown")
        }
    },
    FuzzTarget("oidc-configuration") { input in
        let response = try JSONDecoder().decode(OIDCConfiguration.Response.self, from: Data(input))
        let configuration = try OIDCConfiguration(response, providerID: "emulator", allowsInsecureHTTP: false)
        let address = OIDCAttempt(configuration, randomness: OIDCFixture.randomness).authorizeURL
        guard let url = URLComponents(string: address) else { return hold(false, "no address to open") }
        let page = URLComponents(string: configuration.authorizeURL)
        hold(url.host == page?.host && url.path == page?.path && url.fragment == nil, "it leads to another page")
        for name in ["state", "nonce"] {
            let own = url.queryItems?.last { $0.name == name }?.value
            hold(own?.utf8.count == 43, "'\(name)' is not what was made for this attempt")
        }
    },
    // The query of a request to sign in, then the user who signs in at that address.
    FuzzTarget("oidc-provider") { input in
        var reader = InputReader(input)
        let target = "/oidc/emulator/authorize?" + reader.line()
        var backend = FuzzServer.backend
        var request = ReceivedRequest(method: "GET", target: target)
        request.origin = "http://127.0.0.1"
        let reply = backend.reply(to: request, at: FuzzServer.now)
        hold([303, 400].contains(reply.status), "\(reply.status)")
        let location = reply.headers.first { $0.name == "Location" }?.value
        let callback = try? backend.signIn(Array(reader.rest).text, at: target, FuzzServer.now)
        for address in [location, callback].compactMap(\.self) {
            hold(address.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "no header can hold it")
            hold(address.utf8.starts(with: "mtoken://oidc?".utf8), "led elsewhere")
        }
    },
    // The request of a device for a provider, in its envelope.
    FuzzTarget("oidc-request") { input in
        var backend = FuzzServer.backend
        var device = FuzzDevice(backend.defaultApplication)
        let (reply, content) = try device.sendForApplication("/api/config/oidc", input, to: &backend)
        hold((200...599).contains(reply.status), "no status")
        guard reply.status == 200 else { return }
        hold(try JSONValue(parsing: content)["responseObject"]?["providerId"] == "emulator", "another provider")
    },
]

private enum OIDCFixture {
    /// The same in every run.
    static let randomness = Randomness { SecretBytes(copying: [UInt8](repeating: 7, count: $0)) }

    static func configuration(redirect: String = "mtoken://oidc") throws -> OIDCConfiguration {
        let response = OIDCConfiguration.Response(
            providerId: "emulator",
            clientId: "mobile-token",
            scopes: "openid",
            authorizeUri: "https://example.com/authorize",
            redirectUri: redirect,
            pkceEnabled: true
        )
        return try OIDCConfiguration(response, providerID: "emulator", allowsInsecureHTTP: false)
    }

    /// The address that leads back with the attempt's state, and with nothing else.
    static func callback(of attempt: OIDCAttempt) -> String? {
        let redirect = attempt.configuration.redirectURL
        let separator = redirect.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return URLComponents(string: attempt.authorizeURL)?.queryItems?.last { $0.name == "state" }?.value
            .map { redirect + separator + "state=" + $0 }
    }
}
