public import PowerAuthProtocol

extension Emulator {
    /// Makes a virtual device for a user: registered, activated and committed.
    ///
    /// ```swift
    /// let device = try await emulator.makeDevice(userID: "alice", rule: .init(.approve, after: 3))
    /// ```
    ///
    /// - Parameters:
    ///   - userID: The user of the device.
    ///   - name: The name that the device gives itself.
    ///   - version: The version of the protocol that it speaks: `3.1`, `3.2`, `3.3` or `4.0`.
    ///   - suite: The algorithms of a device of version 4.0; by default those without post-quantum ones, if the server offers them.
    ///   - push: The service whose push messages it registers for: `apns`, `fcm` or `hms`.
    ///   - rule: The rule by which it decides; by default it approves at once.
    /// - Throws: ``EmulatorError`` of code `capacityExceeded` when there are too many, `invalidConfiguration` for a rule that
    ///   no device can keep, or `refused` with the reason why it could not be activated.
    @discardableResult
    public func makeDevice(
        userID: String,
        name: String? = nil,
        version: String = "3.3",
        suite: AlgorithmSuite? = nil,
        push: String? = nil,
        rule: DeviceRule = DeviceRule()
    ) async throws(EmulatorError) -> VirtualDevice {
        try await self.makeDevice(.user(userID), name, version, suite, push, rule)
    }

    /// Makes a virtual device that activates with the code of a registration, which its bank commits.
    @discardableResult
    public func makeDevice(
        activationCode: String,
        name: String? = nil,
        version: String = "3.3",
        suite: AlgorithmSuite? = nil,
        push: String? = nil,
        rule: DeviceRule = DeviceRule()
    ) async throws(EmulatorError) -> VirtualDevice {
        try await self.makeDevice(.activationCode(activationCode), name, version, suite, push, rule)
    }

    private func makeDevice(
        _ origin: NewDevice.Origin,
        _ name: String?,
        _ version: String,
        _ suite: AlgorithmSuite?,
        _ push: String?,
        _ rule: DeviceRule
    ) async throws(EmulatorError) -> VirtualDevice {
        var device = NewDevice(origin: origin, name: name, version: try NewDevice.version(named: version))
        device.push = try push.map(NewDevice.push(named:))
        (device.suite, device.rule) = (suite, rule)
        return try await self.core.makeDevice(device)
    }

    /// Makes a virtual device whose user an OpenID provider of the server signs in.
    ///
    /// - Parameters:
    ///   - userID: The user who signs in.
    ///   - provider: The name of the provider, such as `emulator`.
    ///   - name: The name that the device gives itself.
    ///   - version: The version of the protocol that it speaks: `3.1`, `3.2`, `3.3` or `4.0`.
    ///   - suite: The algorithms of a device of version 4.0; by default those without post-quantum ones, if the server offers them.
    ///   - push: The service whose push messages it registers for: `apns`, `fcm` or `hms`.
    ///   - rule: The way it decides; by default it approves at once.
    /// - Throws: ``EmulatorError`` of code `capacityExceeded`, `invalidConfiguration`, or `refused` with the reason.
    @discardableResult
    public func makeDevice(
        userID: String,
        provider: String,
        name: String? = nil,
        version: String = "3.3",
        suite: AlgorithmSuite? = nil,
        push: String? = nil,
        rule: DeviceRule = DeviceRule()
    ) async throws(EmulatorError) -> VirtualDevice {
        try await self.makeDevice(.openID(provider: provider, userID: userID), name, version, suite, push, rule)
    }

    /// The virtual devices, newest first.
    public func devices() async -> [VirtualDevice] { await self.core.virtualDevices }

    /// Returns a virtual device.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`.
    public func device(_ id: VirtualDevice.ID) async throws(EmulatorError) -> VirtualDevice {
        try await self.core.device(id)
    }

    /// Gives a virtual device another rule, also for the operations that wait.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound` or `invalidConfiguration`.
    public func setRule(_ rule: DeviceRule, ofDevice id: VirtualDevice.ID) async throws(EmulatorError) {
        try await self.core.setRule(rule, ofDevice: id)
    }

    /// Lets a virtual device decide an operation now, whatever its rule says; returns when the server has answered it.
    ///
    /// - Parameters:
    ///   - operationID: The operation.
    ///   - decision: Anything but `never`.
    ///   - reason: That of a rejection.
    ///   - proximityCode: The one-time code that the user has scanned.
    ///   - id: The device.
    /// - Returns: The device; the last of its tasks for the operation tells what became of it.
    /// - Throws: ``EmulatorError`` of code `notFound`, `conflict` when it is about to decide that operation, or
    ///   `invalidConfiguration`.
    @discardableResult
    public func decide(
        _ operationID: OperationSummary.ID,
        _ decision: DeviceDecision,
        reason: String = "UNKNOWN",
        proximityCode: String? = nil,
        byDevice id: VirtualDevice.ID
    ) async throws(EmulatorError) -> VirtualDevice {
        let request = DecisionRequest(
            operationID: operationID,
            decision: decision,
            reason: reason,
            proximityCode: proximityCode
        )
        return try await self.core.decide(request, by: id)
    }

    /// Removes a virtual device, and its activation.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`.
    public func removeDevice(_ id: VirtualDevice.ID) async throws(EmulatorError) {
        try await self.core.removeDevice(id)
    }
}
