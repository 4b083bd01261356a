//! What if the body of an answer breaks off? Where it belongs to the attempt, the attempt has failed.

use std::mem::take;
use std::ops::Deref;

use reqwest::{Response, ResponseBuilderExt};

/// The answer with all of its body, and that; one that is no success as it came.
pub(super) async fn whole(
    mut answer: Response,
) -> reqwest::Result<(Response, Option<impl Deref<Target = [u8]> + use<>>)> {
    if !answer.status().is_success() {
        return Ok((answer, None));
    }
    let head = http::Response::builder()
        .status(answer.status())
        .version(answer.version())
        .url(answer.url().clone());
    let (headers, extensions) = (take(answer.headers_mut()), take(answer.extensions_mut()));
    let body = answer.bytes().await?;
    let mut whole = head
        .body(body.clone())
        .expect("an answer has had this head");
    *whole.headers_mut() = headers;
    whole.extensions_mut().extend(extensions);
    Ok((whole.into(), Some(body)))
}
