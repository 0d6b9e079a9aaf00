// The types in this module's declarations, so that no other import is needed.
@_exported public import PowerAuth
@_exported public import PowerAuthCrypto
