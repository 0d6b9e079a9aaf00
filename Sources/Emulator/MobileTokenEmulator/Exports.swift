// Whole modules, as in `MobileToken`: the parts of the configuration, the suites of version 4, the client of the cloud API.
@_exported public import EmulatorBackend
@_exported public import MobileTokenCloud
@_exported public import PowerAuthProtocol
