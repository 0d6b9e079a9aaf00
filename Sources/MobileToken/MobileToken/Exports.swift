// `import MobileToken` shows what its declarations name. Modules are exported whole, and only those whose names no module of a user
// has: the import of a single type would win over the user's own type of that name. So JSON and HTTP are not exported.
@_exported public import PowerAuth
@_exported public import PowerAuthCrypto
@_exported public import PowerAuthProtocol
