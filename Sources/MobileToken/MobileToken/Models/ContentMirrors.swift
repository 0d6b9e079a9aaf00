import OperationScreens

// Operations and messages are for the person who decides, not for logs: descriptions and mirrors show only the type.

extension OperationForm: Opaque {}
extension OperationForm.ResultTexts: Opaque {}
extension UserOperation.Attribute: Opaque {}
extension UserOperation.Attribute.Content: Opaque {}
extension UserOperation.Attribute.Money: Opaque {}
extension UserOperation.Attribute.PartyInfo: Opaque {}
extension UserOperation.Attribute.Alert: Opaque {}
extension OperationUI: Opaque {}
extension OperationUI.PreApprovalScreen: Opaque {}
extension OperationUI.PreApprovalElement: Opaque {}
extension OperationUI.PreApprovalElement.Content: Opaque {}
extension OperationUI.PostApprovalScreen: Opaque {}
extension OperationUI.PostApprovalScreen.Content: Opaque {}
extension UserOperation: Opaque {}
extension UserOperation.ProximityCheck: Opaque {}
extension LocalOperation: Opaque {}

/// A type whose content is for a person: `dump` and mirrors of its values, and of what holds them, are empty.
package protocol Opaque: CustomReflectable {}

extension Opaque {
    /// Empty.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
