// Values that appear in this module's API.
@_exported public import HTTPClientTransport
@_exported public import struct PowerAuthCrypto.SecretBytes
@_exported public import enum PowerAuthProtocol.ProtocolVersion
