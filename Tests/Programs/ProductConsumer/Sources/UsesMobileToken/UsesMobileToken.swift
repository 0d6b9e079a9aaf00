import MobileToken
import OtherTypes

let otherTypes: [Any.Type] = [
    HTTPRequest.self, HTTPResponse.self, HTTPHeaders.self, Endpoint.self, FormData.self, Empty.self,
]

let clientTypes: [Any.Type] = [
    MobileTokenClient.self, MobileTokenClient.Configuration.self, SDKConfiguration.self, SDKConfigurationError.self,
    ProtocolVersion.self, AlgorithmSuite.self, MobileTokenClient.AcceptLanguage.self, MobileTokenError.self,
    MobileTokenError.Code.self,
]

let observationTypes: [Any.Type] = [
    (any MobileTokenObserver).self, MobileTokenObservation.self, MobileTokenObservation.Request.self,
    MobileTokenObservation.Request.Result.self,
    MobileTokenObservation.Request.Outcome.self, MobileTokenObservation.Retry.self,
    MobileTokenObservation.RetryReason.self, MobileTokenObservation.Signature.self,
    MobileTokenObservation.Wait.self, MobileTokenObservation.Decision.self, MobileTokenObservation.Receipt.self,
    MobileTokenObservation.Receipt.Kind.self, MobileTokenObservation.Poll.self,
    MobileTokenObservation.OperationList.self, MobileTokenObservation.ActivationState.self,
    MobileTokenObservation.Agent.self,
]

let activationTypes: [Any.Type] = [
    Activation.self, ActivationRequest.self, ActivationResult.self, ActivationStatus.self, ActivationStatus.Flags.self,
    ActivationState.self, Activation.Authentication.self, Activation.Authentication.UnlockedFactor.self,
    SecretBytes.self, ActivationStatus.CounterComparison.self, ActivationStatus.CounterComparison.Result.self,
]

let storeTypes: [Any.Type] = [
    ActivationStore.self, (any SealingKeyProvider).self, SealingKey.self,
]

let receiptTypes: [Any.Type] = [
    ActivationStore.ReceiptFigures.self, DecisionPause.self, ActivationStore.Receipts.self,
    ActivationStore.Receipts.Iterator.self,
]

let operationTypes: [Any.Type] = [
    OperationsService.self, OperationsService.Configuration.self, OperationList.self, OperationList.Change.self,
    OperationList.Change.Update.self, OperationList.Change.Removal.self, OperationList.Change.RemovalReason.self,
    OperationList.Change.Source.self, OperationList.Unreadable.self,
    OperationsService.Event.self, OperationsService.PollingOptions.self,
    UserOperation.self, LocalOperation.self, (any AuthorizableOperation).self, UserOperation.Status.self,
    UserOperation.AllowedSignatureType.self, UserOperation.AllowedSignatureType.Kind.self,
    UserOperation.AllowedSignatureType.Variant.self, OperationForm.self,
    OperationForm.ResultTexts.self, UserOperation.Attribute.self, UserOperation.Attribute.Content.self,
    UserOperation.Attribute.Money.self,
    UserOperation.Attribute.PartyInfo.self, UserOperation.Attribute.Alert.self, UserOperation.Attribute.Alert.Kind.self,
    UserOperation.RejectionReason.self, UserOperation.ProximityCheck.self, UserOperation.ProximityCheck.Source.self,
    UserOperation.ProximityCheck.Clock.self,
    DecodingIssue.self, DecodingIssue.Reason.self, UserOperation.SignedData.self, UserOperation.SignedData.Field.self,
    UserOperation.SignedData.Day.self,
]

let agentTypes: [Any.Type] = [
    ApprovalAgent.self, ApprovalAgent.Configuration.self, ApprovalAgent.Verdict.self, ApprovalAgent.Policy.self,
    ApprovalAgent.Event.self, ApprovalAgent.Event.Kind.self, ApprovalAgent.LeaveReason.self, ApprovalAgent.Health.self,
    ApprovalAgent.DryRun.self, ApprovalAgent.DryRun.Line.self, ApprovalAgent.Limit.self, ApprovalAgent.Limit.Scope.self,
    ApprovalAgent.Limit.Window.self, ApprovalAgent.Limit.Span.self, ApprovalAgent.LimitUse.self,
    OperationReview.self, OperationReview.Doubt.self, OperationReview.Doubt.Kind.self,
]

let fleetTypes: [Any.Type] = [
    OperationsFleet.self, OperationsFleet.Configuration.self, OperationsFleet.ActivationState.self,
    OperationsFleet.ActivationState.Phase.self, OperationsFleet.Health.self, OperationsFleet.Health.Failure.self,
    OperationsFleet.Change.self,
    OperationsFleet.Event.self, OperationsFleet.ServerLimits.self,
    (any FleetMembership).self, SingleProcessMembership.self,
    OperationsFleet.Assignment.self,
    OperationsFleet.Buckets.self,
]

let presentationTypes: [Any.Type] = [
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
