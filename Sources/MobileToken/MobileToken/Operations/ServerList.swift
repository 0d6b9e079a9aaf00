import PowerAuth

/// The server's list of operations, with the means to recognize a repeated response.
struct ServerList: Sendable {
    let list: OperationList
    private let comparison: ListResponseComparison

    init(_ response: ChannelResponse) throws {
        (self.list, self.comparison) = try response.read { try OperationList.read($0) }
    }

    private init(list: OperationList, comparison: ListResponseComparison) {
        self.list = list
        self.comparison = comparison
    }

    /// Returns this list with the server's new time if a response repeats it, without decoding the response.
    func repeated(by response: ChannelResponse) -> Self? {
        self.comparison.match(response.bytes).map { match in
            Self(list: self.list.at(match.currentTimestamp), comparison: self.comparison)
        }
    }
}
