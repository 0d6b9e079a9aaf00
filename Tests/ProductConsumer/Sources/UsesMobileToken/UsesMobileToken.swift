import MobileToken
import OtherTypes

let otherTypes: [Any.Type] = [
    HTTPRequest.self, HTTPResponse.self, HTTPHeaders.self, Endpoint.self, FormData.self, Empty.self,
]

let clientTypes: [Any.Type] = [
    MobileTokenClient.self, MobileTokenClient.Configuration.self, SDKConfiguration.self, SDKConfigurationError.self,
    ProtocolVersion.self, AlgorithmSuite.self, AcceptLanguage.self, MobileTokenError.self, MobileTokenError.Code.self,
]

let observationTypes: [Any.Type] = [
    (any MobileTokenObserver).self, RequestObservation.self, RequestObservation.Result.self,
    RequestObservation.Outcome.self, RetryObservation.self, RetryReason.self, SignatureObservation.self,
    DecisionObservation.self, ReceiptObservation.self, ReceiptObservation.Kind.self, PollObservation.self,
    OperationListObservation.self, ActivationStateObservation.self, AgentObservation.self,
]

let activationTypes: [Any.Type] = [
    Activation.self, ActivationRequest.self, ActivationResult.self, ActivationStatus.self, ActivationStatus.Flags.self,
    ActivationState.self, DeviceSignature.self, ApplicationKeyBase.self, DevicePublicKeys.self, DevicePublicKey.self,
    DeviceKey.self, DeviceWebSignatureForm.self, DeviceCertificateRequest.self, CertificateSubject.self,
    CertificateSubject.AlternativeName.self, PasswordChange.self,
    RecoveryCodes.self, OIDCAuthorization.self, Authentication.self, UnlockedFactor.self, SecretBytes.self,
    VaultUnlockReason.self, CounterComparison.self, CounterComparison.Result.self, ServerSigningKey.self,
    ServerSignatureFormat.self,
    (any AuthenticatedChannel).self, DecisionEvidence.self, ChannelResponse.self, RequestAuthentication.self,
    PowerAuthEndpoint<EmptyBody, EmptyBody>.self, EndpointAuthentication.self, TokenFactors.self,
    EncryptionScope.self, EmptyBody.self, TransferCode.self, ServerConfigurationEntry.self,
    ServerConfigurationEntry.Scope.self,
]

func decrypt(_ request: consuming EncryptedRequest) throws -> [UInt8] { try request.decrypt([]) }

let storeTypes: [Any.Type] = [
    (any ActivationStore).self, SigningTurn.self, SQLiteActivationStore.self, InMemoryActivationStore.self,
    ActivationRecord.self, SealedActivation.self, SealedActivation.Field.self, SealedActivation.Changes.self,
    Sealing.self, (any SealingKeyProvider).self, SealingKeyFile.self, SealingKeyVariable.self, SealingKeyClosure.self,
]

let receiptTypes: [Any.Type] = [
    (any DecisionJournal).self, (any PrunableJournal).self, PrunedReceipts.self, ReceiptFigures.self,
    DecisionPause.self,
    DecisionIntent.self, DecisionIntent.Verdict.self,
    DecisionIntent.Policy.self,
    DecisionOutcome.self, DecisionOutcome.Result.self, OpenDecision.self, DecisionReceipt.self, DecisionReceipts.self,
    DecisionReceipts.Iterator.self, RecordedIntent.self, RecordedIntent.PersonalData.self,
    ReceiptEntry.self, ReceiptEntry.Content.self, ReceiptSelection.self, SealedReceipt.self, ReceiptArchive.self,
    ReceiptArchive.Export.self, ReceiptVerification.self, ReceiptVerification.Counts.self, ReceiptFault.self,
    ReceiptFault.Reason.self, ReceiptSignature.self, ReceiptReconciliation.self,
    ReceiptReconciliation.Difference.self, ReceiptReconciliation.Difference.Kind.self,
    ReceiptReconciliation.Incomparability.self,
]

let operationTypes: [Any.Type] = [
    OperationsService.self, OperationsService.Configuration.self, OperationList.self, OperationListChange.self,
    OperationListChange.Update.self, OperationListChange.Removal.self, OperationListChange.RemovalReason.self,
    OperationListChange.Source.self,
    OperationsEvent.self, PollingOptions.self,
    UserOperation.self, LocalOperation.self, (any AuthorizableOperation).self, OperationStatus.self,
    AllowedSignatureType.self, AllowedSignatureType.Kind.self, AllowedSignatureType.Variant.self, OperationForm.self,
    ResultTexts.self, OperationAttribute.self, OperationAttribute.Content.self, OperationAttribute.Money.self,
    OperationAttribute.PartyInfo.self, OperationAttribute.Alert.self, OperationAttribute.Alert.Kind.self,
    RejectionReason.self, ProximityCheck.self, ProximityCheck.Source.self, ProximityCheck.Clock.self,
    ProximityCode.self, DecodingIssue.self,
    DecodingIssue.Reason.self, ExpirationWatcher.self,
]

let agentTypes: [Any.Type] = [
    ApprovalAgent.self, ApprovalAgent.Configuration.self, ApprovalAgent.Verdict.self, ApprovalAgent.Policy.self,
    ApprovalAgent.Event.self, ApprovalAgent.Event.Kind.self, ApprovalAgent.LeaveReason.self, ApprovalAgent.Health.self,
    ApprovalAgent.DryRun.self, ApprovalAgent.DryRun.Line.self,
    OperationReview.self, OperationReview.Doubt.self, OperationReview.Doubt.Kind.self,
]

let fleetTypes: [Any.Type] = [
    OperationsFleet.self, OperationsFleet.Configuration.self, FleetActivationState.self,
    FleetActivationState.Phase.self, FleetHealth.self, FleetHealth.Failure.self, FleetChange.self,
    FleetEvent.self, ServerLimits.self,
    (any FleetMembership).self, SingleProcessMembership.self, LocalProcessesMembership.self, FleetAssignment.self,
    FleetBuckets.self,
]

func expiry(of item: some Expirable) {}

let presentationTypes: [Any.Type] = [
    OperationUI.self, PreApprovalScreen.self, PreApprovalScreen.Kind.self, PreApprovalControls.self,
    PreApprovalControls.Axis.self, PreApprovalControls.Decline.self, PreApprovalControls.Approve.self,
    PreApprovalElement.self, PreApprovalElement.Content.self, PreApprovalElement.Style.self,
    PreApprovalElement.Button.self, PreApprovalElement.Button.Action.self, PostApprovalScreen.self,
    PostApprovalScreen.Content.self,
    PostApprovalScreen.Redirect.self,
]

let otherServiceTypes: [Any.Type] = [
    InboxService.self, InboxMessage.self, InboxMessage.ContentType.self, InboxMessages.self,
    PreApprovalRecorder.self, PreApprovalRecorder.Action.self, PreApprovalRecorder.Visit.self, MobileTokenData.self,
    (any MobileTokenRecord).self, InboxMessages.Iterator.self, InboxPage.self, PushService.self,
    PushService.Platform.self, PushService.Environment.self,
    PushService.Registration.self, OperationCallback.self, PushPayload.self, PushPayload.Content.self,
    PushPayload.OperationResult.self,
    UnverifiedOfflineOperation.self, OfflineOperation.self, OfflineOperation.SigningKey.self,
    OfflineOperation.Flags.self, OfflineOperationData.self, OfflineOperationData.Field.self,
    OfflineOperationData.Day.self, OfflineOperationError.self, OfflineOperationError.Code.self,
]

let transportTypes: [Any.Type] = [
    (any HTTPTransport).self, HTTPTransportError.self, HTTPTransportError.Code.self, CurlTransport.self,
    CurlTransport.Configuration.self, CurlTransport.UserAgent.self,
    CurlTransport.Proxy.self, CurlTransport.TLS.self, CurlTransport.Validation.self,
    CurlTransport.ClientCertificate.self,
]

let jsonTypes: [Any.Type] = [
    JSONValue.self, JSONObject.self, JSONObject.Member.self, JSONNumber.self, JSONError.self, JSONError.Reason.self,
    JSONLimits.self,
]
