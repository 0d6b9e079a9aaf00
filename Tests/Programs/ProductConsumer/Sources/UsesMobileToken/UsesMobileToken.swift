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

let activationTypes: [Any.Type] = [
    Activation.self, ActivationRequest.self, ActivationResult.self, ActivationStatus.self,
    ActivationState.self, Activation.Authentication.self, Activation.Authentication.UnlockedFactor.self,
    SecretBytes.self,
]

let storeTypes: [Any.Type] = [
    ActivationStore.self, (any SealingKeyProvider).self, SealingKey.self, DecisionPause.self,
]

let operationTypes: [Any.Type] = [
    OperationsService.self, OperationsService.Configuration.self, OperationList.self, OperationList.Change.self,
    OperationList.Change.Update.self, OperationList.Change.Removal.self, OperationList.Change.RemovalReason.self,
    OperationList.Unreadable.self,
    OperationsService.Event.self, OperationsService.PollingOptions.self,
    UserOperation.self, LocalOperation.self, UserOperation.Status.self,
    OperationForm.self,
    OperationForm.ResultTexts.self, UserOperation.Attribute.self, UserOperation.Attribute.Content.self,
    UserOperation.Attribute.Money.self,
    UserOperation.Attribute.PartyInfo.self, UserOperation.Attribute.Alert.self, UserOperation.Attribute.Alert.Kind.self,
    UserOperation.RejectionReason.self, UserOperation.ProximityCheck.self, UserOperation.ProximityCheck.Source.self,
    DecodingIssue.self, UserOperation.SignedData.self, UserOperation.SignedData.Field.self,
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
]
