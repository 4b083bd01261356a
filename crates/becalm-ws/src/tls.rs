//! Whom does a socket trust, and does it remember whom it has met?

use std::sync::{Arc, OnceLock};

use rustls::crypto::{CryptoProvider, ring};
use rustls::{ClientConfig, Error, RootCertStore};
use tokio_tungstenite::Connector;
use tokio_tungstenite::tungstenite::error::TlsError;

/// The settings of all sockets of a client: one set, so that a dial resumes the TLS of an earlier one, which is
/// most of what TLS costs a server with an RSA key (RFC 8446, section 2.2).
#[derive(Clone, Default)]
pub(crate) struct Tls {
    chosen: Option<Connector>,
    default: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl Tls {
    pub fn choose(&mut self, connector: Connector) {
        self.chosen = Some(connector);
    }

    pub fn connector(&self) -> Result<Connector, TlsError> {
        if let Some(chosen) = &self.chosen {
            return Ok(chosen.clone());
        }
        if let Some(default) = self.default.get() {
            return Ok(Connector::Rustls(Arc::clone(default)));
        }
        if CryptoProvider::get_default().is_none() {
            // Somebody else may have been faster, and then it is theirs.
            let _ = ring::default_provider().install_default();
        }
        let roots = roots();
        if roots.is_empty() {
            let none =
                "the system has no certificate authorities: install them, or set a connector";
            return Err(Error::General(none.to_owned()).into());
        }
        let config = ClientConfig::builder().with_root_certificates(roots);
        let config = self
            .default
            .get_or_init(|| Arc::new(config.with_no_client_auth()));
        Ok(Connector::Rustls(Arc::clone(config)))
    }
}

fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    #[cfg(feature = "rustls-native-roots")]
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    #[cfg(feature = "rustls-webpki-roots")]
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    roots
}

#[cfg(all(test, feature = "rustls-webpki-roots"))]
mod tests {
    use super::*;

    #[test]
    fn all_sockets_of_a_client_share_what_they_remember() {
        let tls = Tls::default();
        let of = |tls: &Tls| match tls.connector() {
            Ok(Connector::Rustls(config)) => config,
            _ => panic!("it has authorities"),
        };
        assert!(Arc::ptr_eq(&of(&tls.clone()), &of(&tls)));
    }
}
