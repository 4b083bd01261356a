//! What is done to get a connection, from the provider's word to the end of the handshake?

use std::sync::Arc;
use std::task::Poll;

use becalm::login::{Login, NoLogin, Renewed};
use becalm_admission::TICKET_HEADER;
#[cfg(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots"))]
use tokio_tungstenite::connect_async_tls_with_config;
#[cfg(not(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots")))]
use tokio_tungstenite::connect_async_with_config;
use tokio_tungstenite::tungstenite::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::{IntoClientRequest, uri_mode};
use tokio_tungstenite::tungstenite::error::UrlError;
use tokio_tungstenite::tungstenite::handshake::client::{Request, Response};
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::stream::Mode;

use crate::open::Wire;
use crate::settings::{BoxError, Endpoint, Provider, Settings};
use crate::{Dialling, Ended, session};

/// A dial that has failed, and whether a login may mend that.
pub(crate) type NotDialled = (Ended, bool);

/// A dial, from the provider's word to the end of the handshake. Neither the provider nor the wait for its turn takes of its time.
pub(crate) async fn dialled(
    client: Arc<Settings>,
    dialling: Dialling,
    ticket: Option<String>,
) -> Result<Wire, NotDialled> {
    let mut login = match &client.endpoint {
        Endpoint::Named(_) => None,
        Endpoint::Asked(login, provider) => Some(
            asked(login, provider, dialling)
                .await
                .map_err(|none| (Ended::NoEndpoint(none.into()), false))?,
        ),
    };
    let _permit = match &client.pacer {
        Some(pacer) => Some(pacer.pass().await),
        None => None,
    };
    let named = match (&client.endpoint, &mut login) {
        (Endpoint::Named(name), _) => name(dialling),
        (Endpoint::Asked(..), None) => unreachable!("it was asked"),
        (Endpoint::Asked(..), Some(login)) => {
            login.refresh();
            Ok(login.value().clone())
        }
    };
    let sleeper = &client.sleeper;
    let mut cut = sleeper.sleep_until(sleeper.now().after(client.dial_patience));
    let mut dial = std::pin::pin!(shake_hands(&client, named, dialling, ticket));
    let dialled = std::future::poll_fn(|context| {
        if let Poll::Ready(dialled) = dial.as_mut().poll(context) {
            return Poll::Ready(dialled);
        }
        cut.as_mut().poll(context).map(|()| Err(Ended::TooLate))
    })
    .await;
    match dialled {
        Ok(wire) => {
            if let Some(login) = login {
                login.accepted();
            }
            Ok(wire)
        }
        Err(ended) => {
            let may_renew = ended.wants_login() && login.is_some_and(Renewed::refused);
            Err((ended, may_renew))
        }
    }
}

/// What the provider names for this dial, and for all others that wait.
async fn asked(
    login: &Login<ClientRequestBuilder>,
    provider: &Arc<Provider>,
    mut dialling: Dialling,
) -> Result<Renewed<ClientRequestBuilder>, NoLogin> {
    let provider = Arc::clone(provider);
    dialling.resumes = None;
    let fetch = move |renew| {
        provider(Dialling {
            login_was_refused: renew,
            ..dialling
        })
    };
    login.renewed(fetch).await
}

async fn shake_hands(
    client: &Settings,
    named: Result<ClientRequestBuilder, BoxError>,
    dialling: Dialling,
    ticket: Option<String>,
) -> Result<Wire, Ended> {
    let request = named.map_err(Ended::NoEndpoint)?.into_client_request();
    let failed = |error| Ended::Handshake(Box::new(error));
    let mut request = request.map_err(failed)?;
    if let Some(Ok(ticket)) = ticket.map(HeaderValue::try_from) {
        request.headers_mut().insert(TICKET_HEADER, ticket);
    }
    if let Some(id) = dialling.resumes {
        let id = HeaderValue::try_from(id.to_string()).map_err(|error| failed(error.into()))?;
        request.headers_mut().insert(session::HEADER, id);
    }
    // Before anybody is dialled: no server makes this address a good one.
    let mode = uri_mode(request.uri()).map_err(failed)?;
    let is_tls = matches!(mode, Mode::Tls);
    if is_tls
        && !cfg!(any(
            feature = "rustls-native-roots",
            feature = "rustls-webpki-roots"
        ))
    {
        return Err(failed(UrlError::TlsFeatureNotEnabled.into()));
    }
    let connected = connected(request, client).await;
    Ok(connected.map_err(failed)?.0)
}

/// Nagle's algorithm is off: a message is a whole, and has nothing to wait for.
#[cfg(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots"))]
async fn connected(request: Request, client: &Settings) -> Result<(Wire, Response), Error> {
    let connector = match uri_mode(request.uri())? {
        Mode::Tls => Some(client.tls.connector()?),
        Mode::Plain => None,
    };
    connect_async_tls_with_config(request, Some(client.limits), true, connector).await
}

#[cfg(not(any(feature = "rustls-native-roots", feature = "rustls-webpki-roots")))]
async fn connected(request: Request, client: &Settings) -> Result<(Wire, Response), Error> {
    connect_async_with_config(request, Some(client.limits), true).await
}
