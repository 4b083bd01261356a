//! What is dialled?

use std::future::Future;

use becalm::Failure;
use becalm::login::NoLogin;
use sqlx::error::DatabaseError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};

use crate::failed::while_connecting;

/// Dials one connection to one server: the settings of a client library.
pub trait Dial: Send + Sync + 'static {
    /// An open connection.
    type Connection: Send + 'static;
    /// What a dial fails with.
    type Error: Send + Sync + 'static;

    /// Connects and logs in, once.
    fn dial(&self) -> impl Future<Output = Result<Self::Connection, Self::Error>> + Send;

    /// Asks a connection whether it is alive before it is handed out again.
    ///
    /// # Errors
    ///
    /// It is not.
    fn is_alive(
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// What a failed dial means. Nothing but a permanent failure keeps it from being dialled again.
    fn classify(error: &Self::Error) -> Failure;

    /// Whether the server has refused the login, which a [provider](super::Manager::with_provider) may renew. Default: never.
    fn refuses_login(_error: &Self::Error) -> bool {
        false
    }

    /// What a dial fails with whose [provider](super::Manager::with_provider) has failed so. `None` where the client library
    /// has no error for that.
    fn no_login(_error: NoLogin) -> Option<Self::Error> {
        None
    }
}

/// `invalid_password` and `invalid_authorization_specification` (Postgres manual, appendix A).
fn is_of_login(code: &str) -> bool {
    matches!(code, "28P01" | "28000")
}

impl Dial for PgConnectOptions {
    type Connection = PgConnection;
    type Error = sqlx::Error;

    async fn dial(&self) -> Result<PgConnection, sqlx::Error> {
        self.connect().await
    }

    async fn is_alive(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        connection.ping().await
    }

    fn classify(error: &sqlx::Error) -> Failure {
        while_connecting(error)
    }

    fn refuses_login(error: &sqlx::Error) -> bool {
        let code = error.as_database_error().and_then(DatabaseError::code);
        code.is_some_and(|code| is_of_login(&code))
    }

    fn no_login(error: NoLogin) -> Option<sqlx::Error> {
        Some(sqlx::Error::Configuration(error.into()))
    }
}

#[cfg(feature = "tokio-postgres")]
pub use of_tokio_postgres::Tls;

#[cfg(feature = "tokio-postgres")]
mod of_tokio_postgres {
    use becalm::Failure;
    use becalm::classify::{connect, sqlstate};
    use tokio_postgres::tls::{MakeTlsConnect, TlsConnect};
    use tokio_postgres::{Client, Config, Error, NoTls, Socket};

    use super::{Dial, is_of_login};

    /// Dials a connection of tokio-postgres over TLS by this connector.
    #[derive(Debug, Clone)]
    pub struct Tls<T> {
        /// Where, and as whom.
        pub config: Config,
        /// The TLS of the connection, such as `tokio_postgres_rustls::MakeRustlsConnect`.
        pub connector: T,
    }

    impl<T> Dial for Tls<T>
    where
        T: MakeTlsConnect<Socket> + Clone + Send + Sync + 'static,
        T::Stream: Send + 'static,
        T::TlsConnect: Send,
        <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
    {
        type Connection = Client;
        type Error = Error;

        async fn dial(&self) -> Result<Client, Error> {
            let (client, connection) = self.config.connect(self.connector.clone()).await?;
            // It ends with its client, who hears of its errors.
            tokio::spawn(connection);
            Ok(client)
        }

        async fn is_alive(client: &mut Client) -> Result<(), Error> {
            client.simple_query("").await.map(drop)
        }

        fn classify(error: &Error) -> Failure {
            if let Some(code) = error.code() {
                return sqlstate::classify(code.code()).unsent();
            }
            // It was closed in the middle of the login.
            if error.is_closed() {
                return Failure::transient().unsent();
            }
            connect::recognise(error).unwrap_or(Failure::permanent().unsent())
        }

        fn refuses_login(error: &Error) -> bool {
            error.code().is_some_and(|code| is_of_login(code.code()))
        }
    }

    impl Dial for Config {
        type Connection = Client;
        type Error = Error;

        async fn dial(&self) -> Result<Client, Error> {
            let plain = Tls {
                config: self.clone(),
                connector: NoTls,
            };
            plain.dial().await
        }

        async fn is_alive(client: &mut Client) -> Result<(), Error> {
            Tls::<NoTls>::is_alive(client).await
        }

        fn classify(error: &Error) -> Failure {
            Tls::<NoTls>::classify(error)
        }

        fn refuses_login(error: &Error) -> bool {
            Tls::<NoTls>::refuses_login(error)
        }
    }
}
