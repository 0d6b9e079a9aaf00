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
    ///   - applicationID: The application of the device; the server's own by default.
    ///   - name: The device's own name.
    ///   - version: The protocol version: `3.1`, `3.2`, `3.3` or `4.0`.
    ///   - suite: The algorithms for version 4.0; by default those without post-quantum ones, if the server offers them.
    ///   - push: The push service to register for: `apns`, `fcm` or `hms`.
    ///   - rule: The decision rule; by default the device approves at once.
    /// - Throws:
    ///   ``EmulatorError`` of code `capacityExceeded` if there are too many, `invalidConfiguration` for an impossible rule, or `refused`
    ///   with the reason why it could not be activated.
    @discardableResult
    public func makeDevice(
        userID: String,
        applicationID: String? = nil,
        name: String? = nil,
        version: String = "3.3",
        suite: AlgorithmSuite? = nil,
        push: String? = nil,
        rule: DeviceRule = DeviceRule()
    ) async throws(EmulatorError) -> VirtualDevice {
        try await self.makeDevice(.user(userID), applicationID, name, version, suite, push, rule)
    }

    /// Makes a virtual device that activates with a registration's code; the bank commits the registration. By default it belongs
    /// to the registration's application.
    @discardableResult
    public func makeDevice(
        activationCode: String,
        applicationID: String? = nil,
        name: String? = nil,
        version: String = "3.3",
        suite: AlgorithmSuite? = nil,
        push: String? = nil,
        rule: DeviceRule = DeviceRule()
    ) async throws(EmulatorError) -> VirtualDevice {
        try await self.makeDevice(.activationCode(activationCode), applicationID, name, version, suite, push, rule)
    }

    private func makeDevice(
        _ origin: NewDevice.Origin,
        _ applicationID: String?,
        _ name: String?,
        _ version: String,
        _ suite: AlgorithmSuite?,
        _ push: String?,
        _ rule: DeviceRule
    ) async throws(EmulatorError) -> VirtualDevice {
        var device = NewDevice(
            origin: origin,
            applicationID: applicationID,
            name: name,
            version: try NewDevice.version(named: version)
        )
        device.push = try push.map(NewDevice.push(named:))
        (device.suite, device.rule) = (suite, rule)
        return try await self.core.makeReadyDevice(device)
    }

    /// Makes a virtual device whose user signs in at one of the server's OpenID providers.
    ///
    /// - Parameters:
    ///   - userID: The user who signs in.
    ///   - provider: The name of the provider, such as `emulator`.
    ///   - applicationID: The application of the device; the server's own by default.
    ///   - name: The device's own name.
    ///   - version: The protocol version: `3.1`, `3.2`, `3.3` or `4.0`.
    ///   - suite: The algorithms for version 4.0; by default those without post-quantum ones, if the server offers them.
    ///   - push: The push service to register for: `apns`, `fcm` or `hms`.
    ///   - rule: The decision rule; by default the device approves at once.
    /// - Throws: ``EmulatorError`` of code `capacityExceeded`, `invalidConfiguration`, or `refused` with the reason.
    @discardableResult
    public func makeDevice(
        userID: String,
        provider: String,
        applicationID: String? = nil,
        name: String? = nil,
        version: String = "3.3",
        suite: AlgorithmSuite? = nil,
        push: String? = nil,
        rule: DeviceRule = DeviceRule()
    ) async throws(EmulatorError) -> VirtualDevice {
        try await self.makeDevice(
            .openID(provider: provider, userID: userID),
            applicationID,
            name,
            version,
            suite,
            push,
            rule
        )
    }

    /// The virtual devices, newest first.
    public func devices() async -> [VirtualDevice] { await self.core.virtualDevices }

    /// Returns a virtual device.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`.
    public func device(_ id: VirtualDevice.ID) async throws(EmulatorError) -> VirtualDevice {
        try await self.core.device(id)
    }

    /// Replaces a virtual device's rule, also for waiting operations.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound` or `invalidConfiguration`.
    public func setRule(_ rule: DeviceRule, ofDevice id: VirtualDevice.ID) async throws(EmulatorError) {
        try await self.core.setRule(rule, ofDevice: id)
    }

    /// Lets a virtual device decide an operation now, whatever its rule; returns after the server's response.
    ///
    /// - Parameters:
    ///   - operationID: The operation.
    ///   - decision: Any decision except `never`.
    ///   - reason: The reason of a rejection.
    ///   - proximityCode: The one-time code that the user has scanned.
    ///   - id: The device.
    /// - Returns: The device; the last of its tasks for the operation has the outcome.
    /// - Throws:
    ///   ``EmulatorError`` of code `notFound`, `conflict` if it is already deciding that operation, or `invalidConfiguration`.
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

    /// Removes a virtual device and its activation.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`.
    public func removeDevice(_ id: VirtualDevice.ID) async throws(EmulatorError) {
        try await self.core.removeDevice(id)
    }
}
