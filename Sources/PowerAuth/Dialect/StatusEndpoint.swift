import PowerAuthProtocol

extension ProtocolVersion {
    /// Where a server of this version tells its time.
    var statusEndpoint: DialectEndpoint {
        self.isVersion3 ? .version3Status : .version4Status
    }
}
