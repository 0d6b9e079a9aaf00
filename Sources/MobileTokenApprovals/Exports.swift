// Everything that a public declaration names can be named with `import MobileTokenApprovals` alone. Each type by itself, never a module.
@_exported public import enum ExactJSON.JSONValue
@_exported public import class MobileTokenCloud.CloudClient
@_exported public import struct MobileTokenCloud.CloudError
@_exported public import class MobileTokenReceipts.ReceiptArchive
@_exported public import struct MobileTokenReceipts.ReceiptFault
@_exported public import enum PowerAuth.DeviceKey
@_exported public import struct PowerAuth.SealingKey
@_exported public import protocol PowerAuth.SealingKeyProvider
@_exported public import struct PowerAuthCrypto.SecretBytes
