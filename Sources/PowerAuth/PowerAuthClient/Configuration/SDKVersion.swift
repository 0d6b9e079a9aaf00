/// The version of this package, its programs, the Debian package and the manual pages.
package enum SDKVersion {
    /// The version as sent to servers and tagged. Between releases, that of the next one.
    package static let text = "1.0.0-beta.1"
}
