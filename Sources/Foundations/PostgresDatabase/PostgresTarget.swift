import Basics
import CPostgreSQL

package struct PostgresTarget: Sendable, Equatable {
    /// The verification of the server.
    package enum TLS: Sendable, Equatable {
        /// The certificate must be from a trusted authority and name the host. Local sockets need none.
        case verified(rootCertificates: String)
        /// As configured in the connection string.
        case asInConnectionString
        case disabled
    }

    /// `host=… dbname=…` or `postgresql://…`.
    package var connectionString: String
    package var tls: TLS
    /// The timeout for connecting as a whole.
    package var connectTimeout: Duration
    /// The limit for unacknowledged data and silent connections, after which a connection counts as lost.
    package var silenceTimeout: Duration

    package init(
        connectionString: String,
        tls: TLS,
        connectTimeout: Duration = .seconds(10),
        silenceTimeout: Duration = .seconds(5)
    ) {
        self.connectionString = connectionString
        self.tls = tls
        self.connectTimeout = connectTimeout
        self.silenceTimeout = silenceTimeout
    }

    /// The trusted authorities of Debian and most other distributions.
    package static let systemRootCertificates = "/etc/ssl/certs/ca-certificates.crt"

    /// Parses the connection string, and adds the missing parameters.
    ///
    /// - Throws: ``PostgresError/Kind/invalidConfiguration``, without libpq's message, which quotes the string.
    func parameters() throws(PostgresError) -> [(keyword: String, value: String)] {
        guard let options = PQconninfoParse(self.connectionString, nil) else {
            throw PostgresError(.invalidConfiguration, detail: "the connection string cannot be read")
        }
        defer { PQconninfoFree(options) }
        var parameters: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { parameters[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        self.complete(&parameters)
        return parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func complete(_ parameters: inout [String: String]) {
        let milliseconds = max(1, Int32(saturating: self.silenceTimeout / .milliseconds(1)))
        let defaults = [
            "fallback_application_name": "mobile-token",
            "tcp_user_timeout": "\(milliseconds)",
            "keepalives_idle": "\(max(1, milliseconds / 1_000))",
            "keepalives_interval": "1",
            "keepalives_count": "3",
        ]
        parameters.merge(defaults) { given, _ in given }
        parameters["client_encoding"] = "UTF8"
        switch self.tls {
        case .verified(let rootCertificates):
            parameters["sslmode"] = "verify-full"
            parameters["sslrootcert"] = rootCertificates
            // An alternative encryption must not lead to an unencrypted connection.
            parameters["gssencmode"] = "disable"
        case .disabled:
            parameters["sslmode"] = "disable"
            parameters["gssencmode"] = "disable"
        case .asInConnectionString: break
        }
    }
}
