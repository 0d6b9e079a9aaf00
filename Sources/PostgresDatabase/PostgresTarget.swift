import Basics
import CPostgreSQL

/// The server to connect to, and how.
package struct PostgresTarget: Sendable, Equatable {
    /// The verification of the server's identity.
    package enum TLS: Sendable, Equatable {
        /// Its certificate is of a trusted authority and names the host. Sockets of this machine need none.
        case verified(rootCertificates: String)
        /// As the connection string says.
        case asInConnectionString
        /// None.
        case disabled
    }

    /// `host=… dbname=…`, or `postgresql://…`.
    package var connectionString: String
    package var tls: TLS
    /// The time that all of connecting may take.
    package var connectTimeout: Duration
    /// The time for which sent bytes may stay unacknowledged, and a silent connection unprobed, before it counts as lost.
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

    /// The authorities that Debian and most other distributions trust.
    package static let systemRootCertificates = "/etc/ssl/certs/ca-certificates.crt"

    /// Takes the connection string apart, and adds what it leaves open.
    ///
    /// - Throws: ``PostgresError/Kind/invalidConfiguration``. libpq's own message is left out: it quotes the string.
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
            // An unencrypted connection must not come through the back door of another kind of encryption.
            parameters["gssencmode"] = "disable"
        case .disabled:
            parameters["sslmode"] = "disable"
            parameters["gssencmode"] = "disable"
        case .asInConnectionString: break
        }
    }
}
