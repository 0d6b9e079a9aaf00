// `import MobileToken` shows what its declarations name. Modules are exported whole, and only those whose names no module of a user
// has: the import of a single type would win over the user's own type of that name. So JSON and HTTP are not exported. What belongs to
// the protocol is behind a door of its own, `PowerAuth`.
@_exported public import MobileTokenErrors
@_exported public import PowerAuthClient
@_exported public import PowerAuthCrypto
@_exported public import PowerAuthProtocol
