//! Whose certificates are trusted, and what do the servers show that are not?

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    RevokedCertParams, SerialNumber, date_time_ymd,
};
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::{Certificate, Fault};

const REVOKED: u64 = 66;

/// A certificate authority that the clients trust.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
    /// The list of what it has revoked.
    revoked: rcgen::CertificateRevocationList,
}

impl Authority {
    /// A new one, of this name.
    ///
    /// # Panics
    ///
    /// There is no cryptography.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let issuer = Issuer::new(params, key);
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2020, 1, 1),
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: 1.into(),
            issuing_distribution_point: None,
            revoked_certs: vec![RevokedCertParams {
                serial_number: SerialNumber::from(REVOKED),
                revocation_time: date_time_ymd(2020, 1, 1),
                reason_code: None,
                invalidity_date: None,
            }],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let revoked = list.signed_by(&issuer).expect("a list");
        Self {
            issuer,
            certificate,
            revoked,
        }
    }

    /// Its certificate, as text.
    pub fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// What it has revoked, as text.
    ///
    /// # Panics
    ///
    /// It cannot be written.
    pub fn revoked_pem(&self) -> String {
        self.revoked.pem().expect("a list")
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        let added = roots.add(self.certificate.der().clone());
        added.expect("an authority");
        Arc::new(roots)
    }

    /// A client of rustls that trusts it, and knows what it has revoked.
    ///
    /// # Panics
    ///
    /// There is no cryptography.
    pub fn trusted(&self) -> ClientConfig {
        let provider = Arc::new(ring::default_provider());
        let verifier =
            WebPkiServerVerifier::builder_with_provider(self.roots(), Arc::clone(&provider))
                .with_crls([self.revoked.der().clone()])
                .allow_unknown_revocation_status()
                .build();
        ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_webpki_verifier(verifier.expect("a verifier"))
            .with_no_client_auth()
    }

    /// A server with a certificate that has this fault, or demands one of its clients.
    ///
    /// # Panics
    ///
    /// There is no cryptography.
    pub fn server(&self, fault: Fault) -> ServerConfig {
        let key = KeyPair::generate().expect("a key");
        let certificate = self.certificate(fault, &key);
        let provider = Arc::new(ring::default_provider());
        let versions: &[_] = match fault {
            Fault::Demands { afterwards: true } => &[&TLS13],
            Fault::Demands { afterwards: false } => &[&TLS12],
            _ => &[&TLS12, &TLS13],
        };
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let config = config.with_protocol_versions(versions).expect("versions");
        let config = match fault {
            Fault::Demands { .. } => {
                let clients = WebPkiClientVerifier::builder_with_provider(self.roots(), provider);
                config.with_client_cert_verifier(clients.build().expect("a verifier"))
            }
            _ => config.with_no_client_auth(),
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let config = config.with_single_cert(vec![certificate], key);
        let mut config = config.expect("a certificate");
        if fault != Fault::NoHttp2 {
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        }
        config
    }

    fn certificate(&self, fault: Fault, key: &KeyPair) -> CertificateDer<'static> {
        let fault = match fault {
            Fault::Refuses(fault) => fault,
            Fault::ExpiredBehindProxy => Certificate::Expired,
            _ => return self.signed(&params("127.0.0.1"), key),
        };
        let mut params = params("127.0.0.1");
        match fault {
            Certificate::Expired => params.not_after = date_time_ymd(2001, 1, 1),
            Certificate::NotYetValid => params.not_before = date_time_ymd(3001, 1, 1),
            Certificate::WrongName => params = self::params("elsewhere.example"),
            Certificate::WrongPurpose => {
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            }
            Certificate::Revoked => params.serial_number = Some(SerialNumber::from(REVOKED)),
            Certificate::UnknownIssuer => return Self::new("a stranger").signed(&params, key),
            Certificate::SelfSigned => {
                let own = params.self_signed(key).expect("a certificate");
                return own.der().clone();
            }
            Certificate::BadSignature => {
                let mut der = self.signed(&params, key).to_vec();
                // The last byte of the signature's second number.
                *der.last_mut().expect("it is not empty") ^= 1;
                return der.into();
            }
        }
        self.signed(&params, key)
    }

    fn signed(&self, params: &CertificateParams, key: &KeyPair) -> CertificateDer<'static> {
        let signed = params.clone().signed_by(key, &self.issuer);
        signed.expect("a certificate").der().clone()
    }
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}
