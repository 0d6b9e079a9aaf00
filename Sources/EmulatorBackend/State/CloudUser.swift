import EmulatorMessages

/// One who may call the cloud API, beside the user of the configuration.
struct CloudUser: Sendable, Codable, Equatable {
    let name: String
    let password: String

    var credentials: BasicCredentials { BasicCredentials(user: self.name, password: self.password) }
}
