/// A cloud API user, besides the configuration's.
struct CloudUser: Sendable, Codable, Equatable {
    let name: String
    let password: String

    var credentials: BasicCredentials { BasicCredentials(user: self.name, password: self.password) }
}
