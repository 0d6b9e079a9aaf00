// Signs a user in at the development server's OpenID provider, and activates with the answer.
import MobileToken
import MobileTokenEmulator
import PowerAuth

// snippet.hide
let password = "1234"
let emulator = try await Emulator.start()
var configuration = MobileTokenClient.Configuration()
configuration.store = ActivationStore.inMemory()
let client = try MobileTokenClient(
    baseURL: emulator.baseURL,
    sdkConfiguration: emulator.sdkConfiguration,
    configuration: configuration
)
// snippet.show
let authorization = try await client.oidc(providerID: "emulator")
let callback = try await emulator.signIn("alice", at: authorization.authorizeURL)
let activation = try await client.activate(oidc: authorization, callback: callback, password: password)
print("Activated:", activation.activationID)
await emulator.stop()
