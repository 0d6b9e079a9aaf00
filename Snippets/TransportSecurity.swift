// Pins the server's key, trusts an authority of one's own, presents a client certificate, and goes through a proxy.
import HTTPClientTransport
import MobileToken

// snippet.hide
func makeConfiguration() throws -> MobileTokenClient.Configuration {
    // snippet.show
    var transport = CurlTransport.Configuration()
    transport.tls.validation = .certificateAuthority(file: "/etc/bot/bank-ca.pem")
    transport.tls.pinnedPublicKeys = [
        "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",  // the key in use
        "sha256//BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=",  // the bank's spare key
    ]
    transport.tls.clientCertificate = .init(
        certificateFile: "/etc/bot/client.pem",
        privateKeyFile: "/etc/bot/client.key"
    )
    transport.proxy = .url("http://proxy.example.com:3128")

    var configuration = MobileTokenClient.Configuration()
    configuration.transport = try CurlTransport(configuration: transport)
    // snippet.hide
    return configuration
}
