//! Is the body of a request there at once, so that it can be sent again?
//!
//! tonic encodes a message when its body is polled. The body of a unary or a server-streaming call is one message, which
//! is there at the first poll: it ends without ever being pending. A body that has to be waited for is a stream that its
//! caller goes on to write, perhaps by what the answer says: it must begin to flow before there is an answer, and it may
//! never end. What ends at once cannot depend on the answer, even where it is called a stream; it is all there is to
//! send, and sending it again sends the same bytes.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame};
use tonic::Status;
use tonic::body::Body;

/// All messages of a call.
#[derive(Debug, Clone)]
pub(super) struct Messages {
    pub bytes: Bytes,
    /// They are longer than the limit, and are sent once.
    pub are_too_long: bool,
}

/// Reads the body if it is there at once. One that has passed the limit is there if it ends with that.
///
/// # Errors
///
/// It is not: the body, with what was read of it before the rest.
pub(super) fn read(mut body: Body, limit: usize) -> Result<Messages, Body> {
    let (mut first, mut more) = (Bytes::new(), BytesMut::new());
    // The next who polls it leaves a waker of its own.
    let context = &mut Context::from_waker(Waker::noop());
    let mut are_too_long = false;
    let last = loop {
        let data = match Pin::new(&mut body).poll_frame(context) {
            Poll::Ready(None) => break None,
            Poll::Pending => break Some(None),
            // It is a stream of many messages: no more of it is held.
            Poll::Ready(Some(frame)) if are_too_long => break Some(Some(frame)),
            Poll::Ready(Some(frame)) => match frame.map(Frame::into_data) {
                Ok(Ok(data)) => data,
                Ok(Err(frame)) => break Some(Some(Ok(frame))), // requests of gRPC have no trailers
                Err(error) => break Some(Some(Err(error))),
            },
        };
        if first.is_empty() {
            first = data;
        } else {
            more.extend_from_slice(&data);
        }
        are_too_long = first.len() + more.len() > limit;
    };
    let bytes = if more.is_empty() {
        first
    } else {
        [first, more.freeze()].concat().into()
    };
    match last {
        None => Ok(Messages {
            bytes,
            are_too_long,
        }),
        Some(last) => Err(Body::new(Resumed {
            read: bytes,
            last,
            body,
        })),
    }
}

/// A body of which a part was read.
struct Resumed {
    read: Bytes,
    /// What came after that, and is not data.
    last: Option<Result<Frame<Bytes>, Status>>,
    body: Body,
}

impl http_body::Body for Resumed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if !self.read.is_empty() {
            let read = std::mem::take(&mut self.read);
            return Poll::Ready(Some(Ok(Frame::data(read))));
        }
        match self.last.take() {
            Some(last) => Poll::Ready(Some(last)),
            None => Pin::new(&mut self.body).poll_frame(context),
        }
    }
}

pin_project_lite::pin_project! {
    /// The body of one attempt as tonic's own is: without a length, which would be told in a header that gRPC does not
    /// have.
    pub(super) struct Unmeasured<B> {
        #[pin]
        pub body: B,
    }
}

impl<B: http_body::Body> http_body::Body for Unmeasured<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
