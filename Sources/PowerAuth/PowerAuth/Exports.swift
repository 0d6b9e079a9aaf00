// The second door shows what belongs to the protocol, and the whole of the client's modules beneath it.
@_exported public import DecisionReceipts
@_exported public import MobileTokenErrors
@_exported public import MobileTokenObserving
@_exported public import PowerAuthClient
@_exported public import PowerAuthCrypto
@_exported public import PowerAuthProtocol
