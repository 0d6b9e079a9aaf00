// Operations and messages are for the person who decides, not for logs: descriptions and mirrors show only the type.

extension OperationForm: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension OperationForm.ResultTexts: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UserOperation.Attribute: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UserOperation.Attribute.Content: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UserOperation.Attribute.Money: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UserOperation.Attribute.PartyInfo: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UserOperation.Attribute.Alert: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension OperationUI: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension OperationUI.PreApprovalScreen: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension OperationUI.PreApprovalElement: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension OperationUI.PreApprovalElement.Content: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension OperationUI.PostApprovalScreen: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension OperationUI.PostApprovalScreen.Content: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension LocalOperation: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension InboxMessage: CustomReflectable {
    /// An empty mirror.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
