// Whole modules, as in `MobileToken`.
@_exported public import MobileTokenCloud
@_exported public import MobileTokenReceipts
@_exported public import PowerAuth
@_exported public import PowerAuthCrypto
