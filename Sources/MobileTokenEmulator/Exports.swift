// The parts of the configuration that the backend reads too.
@_exported public import struct EmulatorBackend.EmulatorCapacity
@_exported public import struct EmulatorBackend.EmulatorLimits
@_exported public import struct EmulatorBackend.EmulatorOIDCProvider
@_exported public import enum EmulatorBackend.EmulatorOperationMoment
@_exported public import struct EmulatorBackend.EmulatorProtocolRules
@_exported public import struct EmulatorBackend.EmulatorServerProfile

// Parameters of operations are JSON values, so users of this module need no second import.
@_exported public import struct ExactJSON.JSONNumber
@_exported public import struct ExactJSON.JSONObject
@_exported public import enum ExactJSON.JSONValue

// The suites of version 4, which the rules and the summaries name.
@_exported public import enum PowerAuthProtocol.AlgorithmSuite

// The client of the cloud API, which every server has one of.
@_exported public import class MobileTokenCloud.CloudClient
@_exported public import struct MobileTokenCloud.CloudError
@_exported public import struct MobileTokenCloud.CloudResponse
