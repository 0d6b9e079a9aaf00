/// The version of this package, which its programs, the Debian package and the manual pages have from here.
package enum SDKVersion {
    /// As it is sent to servers, and as a release is tagged.
    package static let text = "1.0.0"
}
