//! Replies to one client: sent at once as far as its socket accepts them, the rest by a separate thread.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::os::send_nonblocking;
use crate::protocol::{reply_header, Error, REPLY_HEADER_BYTES};
use crate::sockets::Stream;
use crate::store::Store;

/// Bytes that the unsent replies of one client may hold in memory. Data beyond that stay in the store until they are sent.
const MAX_HELD_BYTES: usize = 8 << 20;
/// Bytes that the unsent replies of all clients may hold.
const MAX_HELD_BYTES_IN_ALL: usize = 256 << 20;
/// Requests of one client that may be outstanding; no more are read until one has been replied to.
const MAX_OUTSTANDING: usize = 1024;
/// Data in the store are sent in pieces of this size.
const PIECE_BYTES: usize = 1 << 16;
/// A client that has ended its requests and takes no reply for this long is disconnected.
const LAST_REPLIES: Duration = Duration::from_secs(10);

/// A limited number of bytes.
#[derive(Debug)]
pub struct Budget {
    used: AtomicUsize,
    most: usize,
}

impl Budget {
    /// Returns the budget of all clients.
    #[must_use]
    pub fn of_all_clients() -> Arc<Self> {
        Self::new(MAX_HELD_BYTES_IN_ALL)
    }

    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), most })
    }

    /// Takes bytes from the budget until the returned value is dropped; `None` if there are too few.
    fn take(self: &Arc<Self>, bytes: usize) -> Option<Held> {
        let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= self.most);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(Held { budget: Arc::clone(self), bytes })
    }
}

/// Bytes taken from a budget.
#[derive(Debug)]
struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The reply to a request.
#[derive(Debug)]
pub struct Reply {
    cookie: u64,
    /// The header, and the data that are held in memory.
    bytes: Vec<u8>,
    /// Bytes that were sent.
    sent: usize,
    /// Place and length of data that are sent from the store.
    stored: Option<(u64, usize)>,
    _held: Option<(Held, Held)>,
}

impl Reply {
    /// Returns a reply without data.
    #[must_use]
    pub fn new(cookie: u64) -> Self {
        Self { cookie, bytes: vec![0; REPLY_HEADER_BYTES], sent: 0, stored: None, _held: None }
    }

    fn set_error(&mut self, error: Error) {
        if error != Error::None {
            self.bytes.truncate(REPLY_HEADER_BYTES);
            self.stored = None;
        }
        self.bytes[..REPLY_HEADER_BYTES].copy_from_slice(&reply_header(error, self.cookie));
    }

    /// Sends the rest of the reply, and waits until the socket accepts it.
    fn send(&self, mut to: &Stream, store: &Store) -> io::Result<()> {
        to.write_all(&self.bytes[self.sent..])?;
        let Some((offset, length)) = self.stored else { return Ok(()) };
        for_pieces(store, offset, length, &mut |piece| to.write_all(piece))
    }
}

/// Reads data of a store piece by piece.
fn for_pieces(
    store: &Store,
    offset: u64,
    length: usize,
    each: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut piece = vec![0; length.min(PIECE_BYTES)];
    let mut done = 0;
    while done < length {
        let count = (length - done).min(PIECE_BYTES);
        store.read(offset + done as u64, &mut piece[..count])?;
        each(&piece[..count])?;
        done += count;
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Queue {
    /// Replies that could not be sent at once, in order.
    replies: VecDeque<Reply>,
    /// True while the first of them is removed from the queue and being sent.
    is_sending: bool,
    /// Requests that were read and not replied to in full.
    outstanding: usize,
    /// True if a thread waits for `outstanding` to fall.
    has_waiter: bool,
    is_gone: bool,
}

/// The server's end of one connection.
#[derive(Debug)]
pub struct Client {
    stream: Stream,
    budgets: [Arc<Budget>; 2],
    queue: Mutex<Queue>,
    /// Signalled when there is a reply to send, or the client is gone. A reply that is sent at once does not signal:
    /// with few processors, the woken thread would run instead of the client.
    has_replies: Condvar,
    /// Signalled when `outstanding` has fallen, or the client is gone.
    has_room: Condvar,
}

impl Client {
    /// Returns the client at the other end of `stream`.
    #[must_use]
    pub fn new(stream: Stream, of_all_clients: &Arc<Budget>) -> Self {
        Self {
            stream,
            budgets: [Arc::clone(of_all_clients), Budget::new(MAX_HELD_BYTES)],
            queue: Mutex::default(),
            has_replies: Condvar::new(),
            has_room: Condvar::new(),
        }
    }

    /// Returns the socket.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while `outstanding` is `most` or more, and returns the queue.
    fn wait_for_room(&self, most: usize) -> MutexGuard<'_, Queue> {
        let mut queue = self.queue();
        while !queue.is_gone && queue.outstanding >= most {
            queue.has_waiter = true;
            queue = self.has_room.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue
    }

    /// Counts a request as outstanding, once there are few enough of them; returns false if the client is gone.
    #[must_use]
    pub fn begin_request(&self) -> bool {
        let mut queue = self.wait_for_room(MAX_OUTSTANDING);
        queue.outstanding += 1;
        !queue.is_gone
    }

    /// Returns a reply with data of a store. They are held in memory if the budgets allow it, and read again later otherwise.
    ///
    /// # Errors
    /// Those of the store.
    pub fn read(&self, store: &Store, cookie: u64, offset: u64, length: usize) -> io::Result<Reply> {
        let mut reply = Reply::new(cookie);
        let [all, own] = &self.budgets;
        reply._held = own.take(length).and_then(|own| Some((own, all.take(length)?)));
        if reply._held.is_some() {
            reply.bytes.resize(REPLY_HEADER_BYTES + length, 0);
            store.read(offset, &mut reply.bytes[REPLY_HEADER_BYTES..])?;
        } else {
            // An error must be known before the header is sent.
            for_pieces(store, offset, length, &mut |_| Ok(()))?;
            reply.stored = Some((offset, length));
        }
        Ok(reply)
    }

    /// Sends the reply of an outstanding request, without its data if there is an error. The part that the socket does
    /// not accept at once is sent later, in order.
    pub fn reply(&self, mut reply: Reply, error: Error) {
        reply.set_error(error);
        let mut queue = self.queue();
        if queue.is_gone {
            return;
        }
        if queue.replies.is_empty() && !queue.is_sending {
            match send_nonblocking(self.stream.as_fd(), &reply.bytes) {
                Ok(sent) => reply.sent = sent,
                Err(_) => return self.set_gone(&mut queue),
            }
            if reply.sent == reply.bytes.len() && reply.stored.is_none() {
                return self.finish_request(&mut queue);
            }
        }
        queue.replies.push_back(reply);
        self.has_replies.notify_all();
    }

    fn finish_request(&self, queue: &mut Queue) {
        queue.outstanding = queue.outstanding.saturating_sub(1);
        if std::mem::take(&mut queue.has_waiter) {
            self.has_room.notify_all();
        }
    }

    fn set_gone(&self, queue: &mut Queue) {
        queue.is_gone = true;
        queue.replies.clear();
        self.has_replies.notify_all();
        self.has_room.notify_all();
    }

    /// Sends queued replies until the client is gone.
    pub fn send_queued(&self, store: &Store) {
        let mut queue = self.queue();
        loop {
            while queue.replies.is_empty() && !queue.is_gone {
                queue = self.has_replies.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            let Some(reply) = queue.replies.pop_front() else { return };
            queue.is_sending = true;
            drop(queue);
            let sent = reply.send(&self.stream, store);
            drop(reply);
            queue = self.queue();
            queue.is_sending = false;
            if sent.is_err() {
                self.set_gone(&mut queue);
            }
            self.finish_request(&mut queue);
        }
    }

    /// Waits until all outstanding requests have been replied to, unless the client takes no replies, and ends the connection.
    pub fn finish(&self) {
        // If it cannot be set, the client is gone.
        let _ = self.stream.set_write_timeout(Some(LAST_REPLIES));
        drop(self.wait_for_room(1));
        self.close();
    }

    /// Ends the connection; outstanding requests are not replied to.
    pub fn close(&self) {
        self.set_gone(&mut self.queue());
        self.stream.close();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    #[test]
    fn a_client_that_takes_no_replies_holds_bounded_memory_and_gets_all_data_later() {
        const READ: usize = 4 << 20;
        let store = Store::memory();
        let expected: Vec<u8> = (0..READ).map(|place| (place / 1000) as u8).collect();
        store.write(0, &expected).expect("room");
        let (near, far) = UnixStream::pair().expect("two ends");
        let client = Client::new(Stream::Unix(near), &Budget::of_all_clients());
        thread::scope(|scope| {
            scope.spawn(|| client.send_queued(&store));
            for cookie in 0..20 {
                assert!(client.begin_request());
                let reply = client.read(&store, cookie, 0, READ).expect("there");
                client.reply(reply, Error::None);
                assert!(client.budgets[1].used.load(Ordering::Relaxed) <= MAX_HELD_BYTES);
            }
            let mut found = vec![0; REPLY_HEADER_BYTES + READ];
            for cookie in 0..20 {
                (&far).read_exact(&mut found).expect("a reply");
                assert_eq!(found[..REPLY_HEADER_BYTES], reply_header(Error::None, cookie));
                assert!(found[REPLY_HEADER_BYTES..] == expected);
            }
            client.finish();
        });
        assert_eq!(client.budgets.map(|budget| budget.used.load(Ordering::Relaxed)), [0, 0]);
    }

    #[test]
    fn replies_wait_for_those_before_them() {
        let (near, far) = UnixStream::pair().expect("two ends");
        let client = Client::new(Stream::Unix(near), &Budget::new(0));
        let store = Store::memory();
        thread::scope(|scope| {
            scope.spawn(|| client.send_queued(&store));
            for cookie in 0..2 {
                assert!(client.begin_request());
                let length = if cookie == 0 { 1 << 20 } else { 1 };
                let reply = client.read(&store, cookie, 0, length).expect("there");
                client.reply(reply, Error::None);
            }
            let mut found = vec![0; 2 * REPLY_HEADER_BYTES + (1 << 20) + 1];
            (&far).read_exact(&mut found).expect("both");
            assert_eq!(found[REPLY_HEADER_BYTES + (1 << 20)..][..16], reply_header(Error::None, 1));
            client.close();
        });
    }
}
