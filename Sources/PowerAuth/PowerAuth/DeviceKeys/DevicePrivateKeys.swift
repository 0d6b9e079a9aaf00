import PowerAuthClient
import PowerAuthCrypto
import PowerAuthProtocol

extension DevicePrivateKeys {
    func signature(of data: [UInt8]) throws(CryptoError) -> DeviceKey.Signature {
        switch self {
        case .version3(let key): return DeviceKey.Signature(ecdsa: try key.derSignature(for: data), mldsa: nil)
        case .version4(let keys):
            let signature = try keys.signature(for: data)
            return DeviceKey.Signature(ecdsa: signature.ecdsa, mldsa: signature.mldsa)
        }
    }

    func certificateRequest(
        _ subject: DeviceKey.CertificateSubject,
        by key: DeviceKey
    ) throws -> CertificateRequest {
        let names = subject.alternativeNames.map(\.crypto)
        switch (self, key) {
        case (.version3(let key), .ecdsa):
            return try CertificateRequest(signedBy: key, subject: subject.name, alternativeNames: names)
        case (.version4(let keys), .ecdsa):
            return try CertificateRequest(signedBy: keys.ecdsa, subject: subject.name, alternativeNames: names)
        case (.version3, .mldsa): throw MobileTokenError.noMLDSAKey
        case (.version4(let keys), .mldsa):
            guard let key = keys.mldsa else { throw MobileTokenError.noMLDSAKey }
            return try CertificateRequest(signedBy: key, subject: subject.name, alternativeNames: names)
        }
    }

    func webSignature(of payload: [UInt8], type: String?, form: DeviceKey.WebSignatureForm) throws -> String {
        switch form {
        case .general: return try JSONWebSignature.general(payload, type: type, signedBy: self.signers)
        case .compact(let key):
            let index = key == .ecdsa ? 0 : 1
            let signers = self.signers
            guard signers.indices.contains(index) else { throw MobileTokenError.noMLDSAKey }
            return try JSONWebSignature.compact(payload, type: type, signedBy: signers[index])
        }
    }

    /// The signers, ECDSA first.
    private var signers: [JSONWebSignature.Signer] {
        switch self {
        case .version3(let key): [key.jwsSigner]
        case .version4(let keys): keys.jwsSigners
        }
    }
}

extension MobileTokenError {
    static var noMLDSAKey: Self { .unsupported("The activation has no key for ML-DSA") }
}

extension DeviceKey.CertificateSubject.AlternativeName {
    fileprivate var crypto: CertificateRequest.AlternativeName {
        switch self {
        case .hostName(let name): .hostName(name)
        case .address(let address): .address(address)
        case .email(let address): .email(address)
        case .uri(let uri): .uri(uri)
        }
    }
}
