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
