//! A client as answers go to it: at once as far as that goes, the rest when the client takes it.

use std::collections::VecDeque;
use std::io;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::os::send_at_once;
use crate::protocol::{reply, Error};
use crate::sockets::Stream;

/// Bytes of answers, and of what was read for them, that one client may leave waiting before it is not listened to any more.
const MOST_WAITING_BYTES: usize = 64 << 20;
/// Requests of one client that may be under way at once.
const MOST_UNDER_WAY: usize = 4096;

#[derive(Debug, Default)]
struct Waiting {
    /// Each with the bytes that it was admitted with.
    answers: VecDeque<(Vec<u8>, usize)>,
    bytes: usize,
    under_way: usize,
    /// Whether somebody waits for room, or for the last answer to go.
    is_waited_for: bool,
    is_gone: bool,
}

/// Where the answers of one connection go.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    waiting: Mutex<Waiting>,
    /// There is something to send, or nobody to send it to. An answer that goes at once wakes nobody: where two processors are all
    /// there are, who is woken would have the client's.
    more: Condvar,
    /// Something has gone that was waited for.
    room: Condvar,
}

impl Client {
    /// The client at the other end of `stream`.
    #[must_use]
    pub fn new(stream: Stream) -> Self {
        Self { stream, waiting: Mutex::default(), more: Condvar::new(), room: Condvar::new() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another request of `bytes` may come; says whether the client is still there.
    #[must_use]
    pub fn admits(&self, bytes: usize) -> bool {
        let mut waiting = self.waiting();
        while !waiting.is_gone
            && waiting.under_way > 0
            && (waiting.under_way >= MOST_UNDER_WAY || waiting.bytes + bytes > MOST_WAITING_BYTES)
        {
            waiting.is_waited_for = true;
            waiting = self.room.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.under_way += 1;
        waiting.bytes += bytes;
        !waiting.is_gone
    }

    /// Sends the answer of a request that was admitted with so many bytes, with data where there is no error; what does not go at
    /// once goes later, in its order.
    pub fn answer(&self, cookie: u64, error: Error, data: &[u8], admitted: usize) {
        let head = reply(error, cookie);
        let data = if error == Error::None { data } else { &[] };
        let mut waiting = self.waiting();
        let mut rest = Vec::new();
        if waiting.answers.is_empty() && !waiting.is_gone {
            let whole = [&head[..], data].concat();
            match send_at_once(self.stream.as_fd(), &whole) {
                Ok(sent) => rest = whole[sent..].to_vec(),
                Err(_) => self.gone(&mut waiting),
            }
        } else {
            rest = [&head[..], data].concat();
        }
        if rest.is_empty() {
            self.over(&mut waiting, admitted);
        } else {
            waiting.answers.push_back((rest, admitted));
            self.more.notify_all();
        }
    }

    fn over(&self, waiting: &mut Waiting, bytes: usize) {
        waiting.under_way = waiting.under_way.saturating_sub(1);
        waiting.bytes = waiting.bytes.saturating_sub(bytes);
        if std::mem::take(&mut waiting.is_waited_for) {
            self.room.notify_all();
        }
    }

    fn gone(&self, waiting: &mut Waiting) {
        waiting.is_gone = true;
        self.more.notify_all();
        self.room.notify_all();
    }

    /// Sends what did not go at once, until the client has gone.
    pub fn send_the_rest(&self) {
        loop {
            let mut waiting = self.waiting();
            while waiting.answers.is_empty() && !waiting.is_gone {
                waiting = self.more.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            if waiting.is_gone {
                return;
            }
            // It stays first in the queue while it goes, so that nothing goes before it.
            let (first, admitted) = waiting.answers.front().cloned().unwrap_or_default();
            drop(waiting);
            let sent: io::Result<()> = (&self.stream).write_all(&first);
            let mut waiting = self.waiting();
            waiting.answers.pop_front();
            if sent.is_err() {
                self.gone(&mut waiting);
            }
            self.over(&mut waiting, admitted);
        }
    }

    /// Ends the connection, whatever is under way.
    pub fn close(&self) {
        self.gone(&mut self.waiting());
        self.stream.close();
    }

    /// Says that the client asks no more: when its answers have gone, it has.
    pub fn leave(&self) {
        let mut waiting = self.waiting();
        while !waiting.is_gone && !waiting.answers.is_empty() {
            waiting.is_waited_for = true;
            let (next, late) = self
                .room
                .wait_timeout(waiting, std::time::Duration::from_millis(200))
                .unwrap_or_else(PoisonError::into_inner);
            waiting = next;
            if late.timed_out() {
                break;
            }
        }
        self.gone(&mut waiting);
    }
}
