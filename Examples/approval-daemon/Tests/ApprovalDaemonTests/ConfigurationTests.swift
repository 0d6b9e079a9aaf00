import ExactJSON
import Foundation
import MobileToken
import Testing

@testable import ApprovalDaemon

/// The settings of a configuration, and the refusal of others by their names.
@Suite struct ConfigurationTests {
    static let whole = """
        {
          "server": {"baseURL": "https://bank.example.com", "sdkConfiguration": "abc", "publicKeyPins": ["sha256//x"]},
          "store": {"path": "/var/lib/a.sqlite", "sealingKey": "file:/etc/key"},
          "passwordFile": "/etc/passwords",
          "polling": {"intervalSeconds": 30, "requestsPerSecond": 20, "concurrentRequests": 4},
          "policy": {
            "name": "small payments", "version": "7",
            "rules": [
              {"template": "authorize_payment", "currency": "CZK", "limit": "49.90", "accounts": ["CZ5508"]},
              {"template": "authorize_payment", "currency": "EUR", "limit": 2, "anyAccount": true}
            ],
            "limits": [
              {"name": "a day", "of": "activation", "dayIn": "Europe/Prague", "count": 10},
              {"name": "money", "of": "fleet", "hours": 24, "sum": {"CZK": "500.50", "EUR": 20}}
            ]
          },
          "status": {"host": "::1", "port": 8080, "maximumPollAgeSeconds": 90},
          "receipts": {"folder": "/var/lib/receipts", "exportIntervalSeconds": 60},
          "gracePeriodSeconds": 5,
          "logLevel": "debug"
        }
        """
    static let least = #"{"server": {"baseURL": "https://b", "sdkConfiguration": "s"}, "passwordFile": "/p"}"#

    private func read(_ json: String, _ environment: [String: String] = [:]) throws -> DaemonConfiguration {
        try DaemonConfiguration(json: try JSONValue(parsing: json), environment: environment)
    }

    private func error(_ json: String, _ environment: [String: String] = [:]) -> ConfigurationError? {
        do {
            _ = try self.read(json, environment)
            return nil
        } catch {
            return error as? ConfigurationError
        }
    }

    private func refusal(_ json: String, _ environment: [String: String] = [:]) -> String? {
        self.error(json, environment)?.setting
    }

    @Test func everythingCanBeSaid() throws {
        let configuration = try self.read(Self.whole)
        #expect(configuration.server.publicKeyPins == ["sha256//x"])
        #expect(configuration.store.sealingKey == .file("/etc/key"))
        #expect(configuration.polling.interval == .seconds(30))
        #expect(configuration.polling.limits.requestsPerSecond == 20)
        #expect(configuration.policy.rules.map(\.limit) == [Decimal(string: "49.90"), 2])
        let prague = try #require(TimeZone(identifier: "Europe/Prague"))
        let sum: [String: Decimal] = ["CZK": try #require(Decimal(string: "500.50")), "EUR": 20]
        #expect(
            configuration.policy.limits == [
                .init("a day", of: .activation, within: .day(in: prague), count: 10),
                .init("money", of: .fleet, within: .rolling(.hours(24)), sum: sum),
            ]
        )
        #expect(configuration.statusURL == "http://[::1]:8080")
        #expect(configuration.status.maximumPollAge == .seconds(90))
        #expect(configuration.receipts.interval == .seconds(60))
        #expect(configuration.gracePeriod == .seconds(5))
        #expect(configuration.logLevel == .debug)
        #expect(!configuration.approvesNothing)
    }

    @Test func theDefaultsAreTheSafeOnes() throws {
        let configuration = try self.read(Self.least)
        #expect(configuration.approvesNothing)
        #expect(configuration.status.host == "127.0.0.1")
        #expect(configuration.polling.interval == .seconds(7))
        #expect(configuration.store.path == ActivationStore.defaultPath)
        #expect(configuration.receipts.folder == nil)
    }

    @Test func theEnvironmentWins() throws {
        let configuration = try self.read(
            Self.whole,
            [
                "APPROVAL_DAEMON_SERVER_BASE_URL": "https://other", "APPROVAL_DAEMON_STATUS_PORT": "1",
                "APPROVAL_DAEMON_POLICY_RULES": "[]", "APPROVAL_DAEMON_GRACE_PERIOD_SECONDS": "9",
                "APPROVAL_DAEMON_STORE_SEALING_KEY": "env:STORE_KEY", "APPROVAL_DAEMON_CONFIG": "/is/read/before",
                "PATH": "/bin",
            ]
        )
        #expect(configuration.server.baseURL == "https://other")
        #expect(configuration.server.sdkConfiguration == "abc")
        #expect(configuration.store.sealingKey == .environment("STORE_KEY"))
        #expect(configuration.status.port == 1)
        #expect(configuration.gracePeriod == .seconds(9))
        #expect(configuration.approvesNothing)
    }

    @Test func credentialsTakeThePlaceOfThePasswordFile() throws {
        let json = #"{"server": {"baseURL": "https://b", "sdkConfiguration": "s"}}"#
        let configuration = try self.read(json, ["CREDENTIALS_DIRECTORY": "/run/credentials/x"])
        #expect(configuration.passwordFile == "/run/credentials/x/passwords")
        #expect(self.refusal(json) == "passwordFile")
    }

    @Test(arguments: [
        (#""extra": 1,"#, "extra"),
        (#""gracePeriodSeconds": "5","#, "gracePeriodSeconds"),
        (#""gracePeriodSeconds": 0,"#, "gracePeriodSeconds"),
        (#""gracePeriodSeconds": 5.5,"#, "gracePeriodSeconds"),
        (#""logLevel": "loud","#, "logLevel"),
        (#""polling": 7,"#, "polling"),
        (#""polling": {"intervalSeconds": 4},"#, "polling.intervalSeconds"),
        (#""polling": {"interval": 7},"#, "polling.interval"),
        (#""status": {"port": 70000},"#, "status.port"),
        (#""status": {"host": ""},"#, "status.host"),
        (#""receipts": {"folder": "a\nb"},"#, "receipts.folder"),
        (#""store": {"path": "/a", "path": "/b"},"#, "store.path"),
        (#""store": {"sealingKeyFile": "/etc/key"},"#, "store.sealingKeyFile"),
        (#""store": {"sealingKey": "/etc/key"},"#, "store.sealingKey"),
        (#""store": {"sealingKey": "vault:key"},"#, "store.sealingKey"),
        (#""store": {"sealingKey": "env:"},"#, "store.sealingKey"),
        (#""store": {"sealingKey": "command: "},"#, "store.sealingKey"),
        (#""store": {"sealingKey": null},"#, "store.sealingKey"),
        (#""policy": {"rules": {}},"#, "policy.rules"),
        (#""policy": {"rules": [1]},"#, "policy.rules[0]"),
    ])
    func whatIsNotASettingIsRefusedByItsName(member: String, name: String) {
        let json = Self.least.replacingOccurrences(of: "{\"server\"", with: "{\(member) \"server\"")
        #expect(self.refusal(json) == name)
    }

    @Test(arguments: [
        (#""currency": "CZK", "limit": 5, "anyAccount": true"#, "template"),
        (#""template": "p", "limit": 5, "anyAccount": true"#, "currency"),
        (#""template": "p", "currency": "czk", "limit": 5, "anyAccount": true"#, "currency"),
        (#""template": "p", "currency": "CZK", "anyAccount": true"#, "limit"),
        (#""template": "p", "currency": "CZK", "limit": 0, "anyAccount": true"#, "limit"),
        (#""template": "p", "currency": "CZK", "limit": "5 CZK", "anyAccount": true"#, "limit"),
        (#""template": "p", "currency": "CZK", "limit": 5"#, "accounts"),
        (#""template": "p", "currency": "CZK", "limit": 5, "anyAccount": false"#, "accounts"),
        (#""template": "p", "currency": "CZK", "limit": 5, "accounts": []"#, "accounts"),
        (#""template": "p", "currency": "CZK", "limit": 5, "accounts": ["a"], "anyAccount": true"#, "anyAccount"),
        (#""template": "p", "currency": "CZK", "limit": 5, "anyAccount": true, "max": 1"#, "max"),
    ])
    func aRuleSaysEverythingOrIsRefused(members: String, name: String) {
        let rules = #"{"policy": {"rules": [{\#(members)}]}, "server""#
        let json = Self.least.replacingOccurrences(of: "{\"server\"", with: rules)
        #expect(self.refusal(json) == "policy.rules[0].\(name)")
    }

    @Test(arguments: [
        (#""of": "fleet", "hours": 1, "count": 1"#, "[0].name"),
        (#""name": "a", "hours": 1, "count": 1"#, "[0].of"),
        (#""name": "a", "of": "user", "hours": 1, "count": 1"#, "[0].of"),
        (#""name": "a", "of": "fleet", "count": 1"#, "[0].hours"),
        (#""name": "a", "of": "fleet", "hours": 745, "count": 1"#, "[0].hours"),
        (#""name": "a", "of": "fleet", "hours": 1, "dayIn": "GMT", "count": 1"#, "[0].dayIn"),
        (#""name": "a", "of": "fleet", "dayIn": "Prague", "count": 1"#, "[0].dayIn"),
        (#""name": "a", "of": "fleet", "hours": 1"#, "[0].count"),
        (#""name": "a", "of": "fleet", "hours": 1, "count": -1"#, "[0].count"),
        (#""name": "a", "of": "fleet", "hours": 1, "sum": 5"#, "[0].sum"),
        (#""name": "a", "of": "fleet", "hours": 1, "sum": {"czk": 5}"#, "[0].sum"),
        (#""name": "a", "of": "fleet", "hours": 1, "sum": {"CZK": -5}"#, "[0].sum"),
        (#""name": "a", "of": "fleet", "hours": 1, "sum": {"CZK": "5 CZK"}"#, "[0].sum.CZK"),
        (#""name": "a", "of": "fleet", "hours": 1, "sum": {"CZK": 5, "CZK": 6}"#, "[0].sum.CZK"),
        (#""name": "a", "of": "fleet", "hours": 1, "count": 1, "max": 1"#, "[0].max"),
    ])
    func aLimitSaysEverythingOrIsRefused(members: String, name: String) {
        let limits = #"{"policy": {"limits": [{\#(members)}]}, "server""#
        #expect(
            self.refusal(Self.least.replacingOccurrences(of: "{\"server\"", with: limits)) == "policy.limits\(name)"
        )
    }

    @Test func twoLimitsHaveTwoNames() {
        let limit = #"{"name": "a", "of": "fleet", "hours": 1, "count": 1}"#
        let limits = #"{"policy": {"limits": [\#(limit), \#(limit)]}, "server""#
        #expect(
            self.refusal(Self.least.replacingOccurrences(of: "{\"server\"", with: limits)) == "policy.limits[1].name"
        )
    }

    /// A member that is misspelt is missing, too, and the one that is there says more.
    @Test(arguments: [
        (
            #"{"templat": "p", "currency": "CZK", "limit": 5, "anyAccount": true}"#, "templat",
            #"did you mean "template"?"#
        ),
        (
            #"{"template": "p", "currency": "CZK", "limit": 5, "acounts": ["a"]}"#, "acounts",
            #"did you mean "accounts"?"#
        ),
        (#"{"template": "p", "currency": "CZK", "Limit": 5, "anyAccount": true}"#, "Limit", #"did you mean "limit"?"#),
        (
            #"{"template": "p", "currency": "CZK", "maximum": 5, "anyAccount": true}"#, "maximum",
            "there are: accounts, anyAccount, currency, limit, template"
        ),
    ])
    func aMisspeltMemberOfARuleIsRefusedByItsOwnName(rule: String, name: String, suggestion: String) {
        let json = Self.least.replacingOccurrences(
            of: "{\"server\"",
            with: #"{"policy": {"rules": [\#(rule)]}, "server""#
        )
        let error = self.error(json)
        #expect(error?.setting == "policy.rules[0].\(name)")
        #expect(error?.problem == "is no setting; \(suggestion)")
    }

    @Test func aMisspeltSectionOrVariableIsRefusedByItsOwnName() {
        #expect(
            self.error(#"{"sever": {"baseURL": "https://b"}}"#)?.description
                == #"sever: is no setting; did you mean "server"?"#
        )
        #expect(
            self.error(#"{"server": {"baseUrl": "https://b"}}"#)?.description
                == #"server.baseUrl: is no setting; did you mean "baseURL"?"#
        )
        #expect(
            self.error(Self.least, ["APPROVAL_DAEMON_SERVER_BASEURL": "x"])?.problem
                == #"is no variable of the approval daemon; did you mean "APPROVAL_DAEMON_SERVER_BASE_URL"?"#
        )
        // A long word is near to nothing, and costs nothing.
        let word = String(repeating: "a", count: 1 << 19)
        #expect(self.refusal(#"{"\#(word)": 1}"#) == word)
    }

    @Test func variablesThatMeanNothingAreRefused() {
        #expect(self.refusal(Self.least, ["APPROVAL_DAEMON_SERVER_URL": "x"]) == "APPROVAL_DAEMON_SERVER_URL")
        #expect(self.refusal(Self.least, ["APPROVAL_DAEMON_STATUS_PORT": "x"]) == "APPROVAL_DAEMON_STATUS_PORT")
    }

    @Test func anErrorNeverHoldsTheValue() {
        let json = Self.least.replacingOccurrences(of: #""s"}"#, with: #"7}"#)
        do {
            _ = try self.read(json)
            Issue.record("was accepted")
        } catch {
            #expect("\(error)" == "server.sdkConfiguration: is not a string")
        }
    }

    /// The example that the README and the package of the service begin with.
    @Test func theExampleIsAccepted() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "configuration.example.json")
        // The unit hands over the passwords, which the service's user cannot read in their own place.
        let environment = ["CREDENTIALS_DIRECTORY": "/run/credentials/approval-daemon.service"]
        let configuration = try DaemonConfiguration(file: file.path, environment: environment)
        #expect(configuration.passwordFile == "/run/credentials/approval-daemon.service/passwords")
        #expect(configuration.policy.rules.count == 1)
    }
}
