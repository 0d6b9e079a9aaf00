/// The version of this package, which its programs, the Debian package and the manual pages have from here.
package enum SDKVersion {
    /// As it is sent to servers, and as a release is tagged. Between releases it is the version of the next one.
    package static let text = "1.0.0"
}
