import MobileTokenEmulator
import OtherTypes

let otherTypes: [Any.Type] = [
    HTTPRequest.self, HTTPResponse.self, HTTPHeaders.self, Endpoint.self, FormData.self, Empty.self,
]

let types: [Any.Type] = [
    Emulator.self, EmulatorLimits.self, EmulatorCapacity.self, Emulator.Configuration.self, Emulator.Limits.self,
    Emulator.Capacity.self, Emulator.TLS.self,
    Emulator.Certificate.self, Emulator.Clock.self, Emulator.Faults.self, Emulator.ActivationSummary.self,
    Emulator.OperationSummary.self, Emulator.TemplateSummary.self, Emulator.MessageSummary.self, CloudClient.self,
    Emulator.DeliverySummary.self, Emulator.PushSummary.self, Emulator.SpaceSummary.self,
    Emulator.SpaceOrigin.self,
    Emulator.VirtualDevice.self, Emulator.DeviceInbox.self, Emulator.DeviceMessage.self,
    Emulator.VirtualDevice.Task.self, Emulator.DeviceRule.self,
    Emulator.DeviceDecision.self,
    CloudClient.ActivationOffer.self, CloudClient.Operation.self, CloudResponse<Void>.self, CloudError.self,
    Emulator.JournalEntry.Code.self, Emulator.JournalEntry.Code.Component.self, Emulator.OperationMoment.self,
    Emulator.OperationMoment.Kind.self, EmulatorOperationMoment.self, Emulator.DeliverySummary.State.self,
    Emulator.VirtualDevice.Task.State.self, Emulator.PendingWork.Kind.self,
    Emulator.JournalEntry.self, Emulator.JournalEntry.Header.self, Emulator.Event.self, Emulator.Event.Kind.self,
    FaultRule.self, FaultRule.Match.self, FaultRule.Effect.self,
    FaultRule.Effect.Answer.self,
    FaultRule.Effect.Moment.self,
    FaultRule.Effect.Page.self,
    FaultRule.Effect.Body.self, FaultRule.Count.self,
    EmulatorError.self,
    EmulatorError.Code.self, EmulatorProtocolRules.self, Emulator.ProtocolRules.self, AlgorithmSuite.self,
    EmulatorOIDCProvider.self, Emulator.OIDCProvider.self, EmulatorServerProfile.self,
    EmulatorServerProfile.Release.self,
    Emulator.ServerProfile.self, Emulator.Callback.self, Emulator.Callback.Subject.self,
    Emulator.JournalEntry.Warning.self, Emulator.JournalFilter.self, Emulator.JournalFilter.Verdict.self,
    Emulator.OperationSummary.Milestone.self, Emulator.PendingWork.self,
]
