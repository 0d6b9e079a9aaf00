// The screens are a module beneath `MobileToken`, whose operations have them.
@_exported public import OperationScreens
