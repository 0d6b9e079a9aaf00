/// Options that programs with profiles share.
extension Command.Option {
    package static let profile = Self("profile", "NAME", "the profile to use (default: default)")
    package static let home = Self("home", "DIR", "the folder of the profiles (default: $MOBILE_TOKEN_HOME)")
    package static let language = Self("language", "TAG", "the language of the server's texts (default: en)")
    package static let timeout = Self(
        "timeout",
        "SECONDS",
        "the longest time for a request, and for 'list' as a whole (default: 20)"
    )
    package static let proxy = Self("proxy", "PROXY", ProxyChoice.help)
    package static let insecureHTTP = Self(
        "insecure-http",
        nil,
        "allow plain http to another machine; the profile keeps it"
    )
    package static let caFile = Self(
        "ca-file",
        "FILE",
        "accept certificates issued by this authority (PEM); the profile keeps it"
    )
    package static let pin = Self("pin", "sha256//KEY", "accept this public key only; the profile keeps it")
}
