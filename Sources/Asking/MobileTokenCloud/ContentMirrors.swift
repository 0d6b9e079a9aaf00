// Codes, secrets, and what is personal, are not for logs.

extension CloudClient.Application: Opaque {}
extension CloudClient.Credentials: Opaque {}
extension CloudResponse: Opaque {}
extension CloudClient.NewMessage: Opaque {}
extension CloudClient.Message: Opaque {}
extension CloudClient.NewPush: Opaque {}
extension CloudClient.NewOperation: Opaque {}
extension CloudClient.OfflineCode: Opaque {}
extension CloudClient.Operation: Opaque {}
extension CloudClient.NewRegistration: Opaque {}
extension CloudClient.ActivationOffer: Opaque {}
extension CloudClient.Registration: Opaque {}
extension CloudClient.SignedRequest: Opaque {}

/// A type whose content is secret or personal: `dump` and mirrors of its values, and of what holds them, are empty.
package protocol Opaque: CustomReflectable {}

extension Opaque {
    /// Empty.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
