// Activates the user whom an OpenID provider signs in.
import MobileToken
import PowerAuth

// snippet.hide
let password = CommandLine.arguments[1]
let client = try MobileTokenClient(
    baseURL: "https://powerauth.example.com/enrollment-server",
    sdkConfiguration: CommandLine.arguments[2]
)
// snippet.show
let authorization = try await client.oidc(providerID: "bank")
print("Sign in at:", authorization.authorizeURL)

// The browser is led to `authorization.redirectURL`, with the provider's answer behind it.
guard let callback = readLine() else { throw CancellationError() }
let activation = try await client.activate(
    oidc: authorization,
    callback: callback,
    name: "approval bot",
    password: password
)
print("Activated:", activation.activationID)
