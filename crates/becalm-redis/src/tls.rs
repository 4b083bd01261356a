//! How is TLS done? By rustls, with the certificate authorities of the system or your own.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use crate::counted::{Counted, Counts};

/// The client's side of TLS.
#[derive(Clone)]
pub(crate) struct Tls(TlsConnector);

impl Tls {
    /// As this configuration says.
    pub fn of(config: Arc<ClientConfig>) -> Self {
        Self(config.into())
    }

    /// With the certificate authorities of the system.
    pub fn of_system() -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let provider = rustls::crypto::CryptoProvider::get_default().cloned();
        let provider =
            provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Self::of(Arc::new(config)))
    }

    /// Speaks TLS over this stream, and counts the bytes below.
    pub async fn connect<S>(
        &self,
        host: &str,
        stream: S,
        counts: &Arc<Counts>,
    ) -> io::Result<TlsStream<Counted<S>>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let stream = Counted::new(stream, Arc::clone(counts));
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
        let name = ServerName::try_from(host.to_owned()).map_err(invalid)?;
        self.0.connect(name, stream).await
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use rcgen::{CertificateParams, KeyPair};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadBuf, duplex};
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::crypto::ring::default_provider;

    use super::*;

    /// A stream that breaks when it has taken so many bytes.
    struct Breaks(DuplexStream, Option<usize>);

    impl AsyncWrite for Breaks {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            data: &[u8],
        ) -> Poll<io::Result<usize>> {
            match &mut self.1 {
                Some(0) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                Some(left) => {
                    let taken = data.len().min(*left);
                    *left -= taken;
                    Poll::Ready(Ok(taken))
                }
                None => Pin::new(&mut self.0).poll_write(context, data),
            }
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_flush(context)
        }

        fn poll_shutdown(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_shutdown(context)
        }
    }

    impl AsyncRead for Breaks {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.0).poll_read(context, buffer)
        }
    }

    /// TLS over such a stream, to a server that reads.
    async fn connected(counts: &Arc<Counts>) -> TlsStream<Counted<Breaks>> {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("a certificate");
        let provider = Arc::new(default_provider());
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth();
        let key = key.serialize_der().try_into().expect("a key");
        let server = server.with_single_cert(vec![certificate.der().clone()], key);
        let server = TlsAcceptor::from(Arc::new(server.expect("a certificate")));
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone()).expect("an authority");
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let (ours, theirs) = duplex(1 << 16);
        tokio::spawn(async move {
            let mut stream = server.accept(theirs).await.expect("a client");
            while let Ok(1..) = stream.read(&mut [0; 4096]).await {}
        });
        let tls = Tls(Arc::new(client).into());
        let connected = tls.connect("localhost", Breaks(ours, None), counts);
        connected.await.expect("it is trusted")
    }

    #[tokio::test]
    async fn what_was_taken_before_a_write_failed_is_counted() {
        const TAKEN: usize = 100_000; // of two fillings of what rustls holds back
        let counts = Arc::<Counts>::default();
        let mut stream = connected(&counts).await;
        let mark = counts.mark();
        stream.get_mut().0.stream_mut().1 = Some(TAKEN);
        let written = stream.write(&vec![0; 2 * TAKEN]).await;
        assert_eq!(
            written.expect_err("it breaks").kind(),
            io::ErrorKind::ConnectionReset
        );
        assert_eq!(counts.written_since(mark), TAKEN as u64);
    }

    #[tokio::test]
    async fn a_command_that_has_left_counts_as_no_fewer_bytes_than_it_is_long() {
        let counts = Arc::<Counts>::default();
        let mut stream = connected(&counts).await;
        for length in [1, 31, 4096, 100_000] {
            let mark = counts.mark();
            stream.write_all(&vec![0; length]).await.expect("it leaves");
            stream.flush().await.expect("it leaves");
            assert!(counts.written_since(mark) > length as u64, "{length}");
        }
    }
}
