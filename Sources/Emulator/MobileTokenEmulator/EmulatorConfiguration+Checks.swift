import APIDescriptions
import EmulatorBackend

extension Emulator.Configuration {
    /// - Throws: `invalidConfiguration` for an impossible value.
    func check() throws(EmulatorError) {
        try self.limits.check()
        try self.capacity.check()
        try self.protocolRules.check(self.profile)
        // An unset environment variable must not open the cloud API, the control API and the export to everyone.
        guard self.cloudPassword != "" else {
            throw EmulatorError(.invalidConfiguration, "The password of the cloud API is empty")
        }
        for provider in self.oidcProviders {
            do { try provider.check() } catch {
                throw EmulatorError(.invalidConfiguration, "The OpenID provider: \(error.message)")
            }
        }
        guard Set(self.oidcProviders.map(\.id)).count == self.oidcProviders.count else {
            throw EmulatorError(.invalidConfiguration, "Two providers have the same identifier")
        }
        for (name, url) in [("pushURL", self.pushURL), ("publicURL", self.publicURL)] {
            guard let url else { continue }
            do { try CallbackMessage.check(url: url, named: name) } catch {
                throw EmulatorError(.invalidConfiguration, error.message)
            }
        }
    }
}

extension EmulatorProtocolRules {
    /// - Throws: `invalidConfiguration` for impossible rules.
    func check(_ profile: EmulatorServerProfile) throws(EmulatorError) {
        guard self.minimumVersion < 4 || profile.servesVersion4 else {
            throw EmulatorError(
                .invalidConfiguration,
                "A server of release \(profile.release.rawValue) has no version 4"
            )
        }
        guard Self.minimumVersions.contains(self.minimumVersion) else {
            throw EmulatorError(.invalidConfiguration, "The minimum version must be 3 or 4, not \(self.minimumVersion)")
        }
        guard !self.offeredSuites.isEmpty else {
            let names = self.allowedSuites.map(\.rawValue).sorted().joined(separator: ", ")
            throw EmulatorError(.invalidConfiguration, "The libcrypto of this process has none of the suites \(names)")
        }
    }
}

extension EmulatorLimits {
    /// - Throws: `invalidConfiguration`, with the value's name and range.
    func check() throws(EmulatorError) {
        try Self.check(self.lookAhead, "lookAhead", 1...64)
        try Self.check(self.failedAttempts, "failedAttempts", 1...255)
        try Self.check(self.operationFailures, "operationFailures", 1...255)
        try Self.check(self.offlineCodeDigits, "offlineCodeDigits", 4...8)
        try Self.check(self.listLength, "listLength", 1...10_000)
        for (name, seconds) in [
            ("activationCodeLifetime", self.activationCodeLifetime),
            ("temporaryKeyLifetime", self.temporaryKeyLifetime),
            ("operationLifetime", self.operationLifetime), ("tokenTimestampAge", self.tokenTimestampAge),
            ("tokenTimestampAhead", self.tokenTimestampAhead),
            ("encryptionTimestampAhead", self.encryptionTimestampAhead), ("temporaryBlock", self.temporaryBlock),
        ] as [(String, Double?)] {
            // Time is counted in milliseconds. NaN is in no range.
            if let seconds { try Self.check(seconds, name, 0.001...31_536_000) }
        }
        try Self.check(self.temporaryBlockMultiplier, "temporaryBlockMultiplier", 1...100)
        try Self.check(self.proximityCodeStep, "proximityCodeStep", 1...3600)
        guard self.proximityCodeStep.rounded() == self.proximityCodeStep else {
            throw EmulatorError(
                .invalidConfiguration,
                "The limit 'proximityCodeStep' must be a whole number of seconds"
            )
        }
    }

    private static func check<Value: Comparable & Sendable>(
        _ value: Value,
        _ name: String,
        _ range: ClosedRange<Value>
    ) throws(EmulatorError) {
        guard !range.contains(value) else { return }
        let bounds = "\(range.lowerBound) to \(range.upperBound)"
        throw EmulatorError(.invalidConfiguration, "The limit '\(name)' must be \(bounds), not \(value)")
    }
}

extension EmulatorCapacity {
    /// - Throws: `invalidConfiguration`, with the value's name.
    func check() throws(EmulatorError) {
        for (name, count) in [
            ("activations", self.activations), ("operations", self.operations), ("messages", self.messages),
            ("tokens", self.tokens), ("applications", self.applications),
            ("callbacks", self.callbacks), ("templates", self.templates),
            ("flagsPerRegistration", self.flagsPerRegistration), ("storedBytes", self.storedBytes),
            ("faultRules", self.faultRules), ("eventStreams", self.eventStreams), ("spaces", self.spaces),
            ("devices", self.devices),
        ] {
            // Counts are added up; no machine holds this many.
            guard (0...(1 << 48)).contains(count) else {
                throw EmulatorError(.invalidConfiguration, "The capacity '\(name)' cannot be \(count)")
            }
        }
    }
}
