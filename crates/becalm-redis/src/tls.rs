//! How is TLS done? By rustls, with the certificate authorities of the system or your own.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
pub(crate) use tokio_rustls::rustls;
use tokio_rustls::rustls::AlertDescription;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::{Builder, InvalidSettings};

/// The client's side of TLS.
#[derive(Clone)]
pub(crate) struct Tls(TlsConnector);

impl Tls {
    pub async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
        let name = ServerName::try_from(host.to_owned()).map_err(invalid)?;
        self.0.connect(name, stream).await.map_err(unless_it_passes)
    }
}

/// An error in the server is not one of its certificate, which never passes.
fn unless_it_passes(error: io::Error) -> io::Error {
    let of_tls = error.get_ref().and_then(|it| it.downcast_ref());
    match of_tls {
        Some(rustls::Error::AlertReceived(AlertDescription::InternalError)) => {
            io::Error::new(io::ErrorKind::ConnectionAborted, error)
        }
        _ => error,
    }
}

impl Builder {
    /// Sets how TLS is done: your own certificate authorities, a client's certificate. Default for `rediss://`: the
    /// authorities of the system.
    pub fn tls(mut self, config: Arc<ClientConfig>) -> Self {
        self.tls = Some(Tls(config.into()));
        self
    }

    pub(crate) fn of_system(self) -> Result<Self, InvalidSettings> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = rustls::crypto::CryptoProvider::get_default().cloned();
        let provider =
            provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(InvalidSettings::Tls)?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(self.tls(Arc::new(config)))
    }
}
