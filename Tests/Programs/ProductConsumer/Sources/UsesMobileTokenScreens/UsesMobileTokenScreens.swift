import MobileToken
import MobileTokenScreens

let types: [Any.Type] = [
    ProximityCode.self, ExpirationWatcher.self, MobileTokenData.self, (any MobileTokenData.Record).self,
    MobileTokenData.PreApprovalRecorder.self, MobileTokenData.PreApprovalRecorder.Action.self,
    MobileTokenData.PreApprovalRecorder.Visit.self,
]

func expiry(of item: some Expirable) {}

func watch(_ operations: [UserOperation], of activation: Activation) async {
    for operation in operations { expiry(of: operation) }
    await ExpirationWatcher(activation: activation).add(operations)
}

let screens: [Any.Type] = [
    OperationUI.self, OperationUI.PreApprovalScreen.self, OperationUI.PreApprovalScreen.Kind.self,
    OperationUI.PreApprovalControls.self,
    OperationUI.PreApprovalControls.Axis.self, OperationUI.PreApprovalControls.Decline.self,
    OperationUI.PreApprovalControls.Approve.self,
    OperationUI.PreApprovalElement.self, OperationUI.PreApprovalElement.Content.self,
    OperationUI.PreApprovalElement.Style.self,
    OperationUI.PreApprovalElement.Button.self, OperationUI.PreApprovalElement.Button.Action.self,
    OperationUI.PostApprovalScreen.self,
    OperationUI.PostApprovalScreen.Content.self,
    OperationUI.PostApprovalScreen.Redirect.self,
]

func headings(of operation: UserOperation) -> [String] {
    operation.ui?.preApprovalScreens.map(\.heading) ?? []
}
