//! Reference implementations of replacement policies: literally as in their papers, with the collections of the standard library, and without
//! any code of the policies under test.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// A simulated cache.
pub trait Reference {
    /// References a page; returns true if it is a hit. The page is in the cache afterwards, unless the policy bypasses it.
    fn reference(&mut self, x: u64) -> bool;
}

/// A list of pages from LRU to MRU, with a stamp for each move to the MRU end.
#[derive(Default)]
struct Recency {
    stamps: HashMap<u64, u64>,
    pages: BTreeMap<u64, u64>,
    clock: u64,
}

impl Recency {
    fn len(&self) -> usize {
        self.stamps.len()
    }

    fn contains(&self, x: u64) -> bool {
        self.stamps.contains_key(&x)
    }

    fn remove(&mut self, x: u64) -> bool {
        let Some(stamp) = self.stamps.remove(&x) else { return false };
        self.pages.remove(&stamp);
        true
    }

    fn put_mru(&mut self, x: u64) {
        self.remove(x);
        self.clock += 1;
        self.stamps.insert(x, self.clock);
        self.pages.insert(self.clock, x);
    }

    fn lru(&self) -> Option<u64> {
        self.pages.first_key_value().map(|(_, &x)| x)
    }

    fn take_lru(&mut self) -> Option<u64> {
        let (_, x) = self.pages.pop_first()?;
        self.stamps.remove(&x);
        Some(x)
    }
}

/// Returns the reference implementation of a policy with its published parameters.
///
/// # Panics
/// There is none.
pub fn reference(policy: &str, pages: usize) -> Box<dyn Reference> {
    match policy {
        "lru" => Box::new(Lru { pages, stack: Recency::default() }),
        "fifo" => Box::new(Fifo { pages, queue: VecDeque::new(), cached: HashMap::new() }),
        "clock" => Box::new(Clock { pages, frames: Vec::new(), hand: 0, frame_of: HashMap::new() }),
        "lfuda" => Box::new(Lfuda { pages, entries: HashMap::new(), queue: BTreeSet::new(), l: 0, time: 0 }),
        "arc" => Box::new(Arc::new(pages)),
        "2q" => Box::new(TwoQ { pages, kin: pages / 4, kout: pages / 2, ..TwoQ::default() }),
        "slru" => Box::new(Slru { pages, protected_pages: pages * 8 / 10, ..Slru::default() }),
        "s3-fifo" => Box::new(S3Fifo { pages, ..S3Fifo::default() }),
        "sieve" => Box::new(Sieve { pages, ..Sieve::default() }),
        "w-tinylfu" => Box::new(WTinyLfu::new(pages)),
        other => panic!("no reference for {other}: write one"),
    }
}

struct Lru {
    pages: usize,
    stack: Recency,
}

impl Reference for Lru {
    fn reference(&mut self, x: u64) -> bool {
        let hit = self.stack.contains(x);
        if !hit && self.stack.len() == self.pages {
            self.stack.take_lru();
        }
        self.stack.put_mru(x);
        hit
    }
}

struct Fifo {
    pages: usize,
    queue: VecDeque<u64>,
    cached: HashMap<u64, ()>,
}

impl Reference for Fifo {
    fn reference(&mut self, x: u64) -> bool {
        if self.cached.contains_key(&x) {
            return true;
        }
        if self.queue.len() == self.pages {
            self.cached.remove(&self.queue.pop_front().unwrap());
        }
        self.queue.push_back(x);
        self.cached.insert(x, ());
        false
    }
}

/// A circle of frames, each with a page and its reference bit, and a hand.
struct Clock {
    pages: usize,
    frames: Vec<(u64, bool)>,
    hand: usize,
    frame_of: HashMap<u64, usize>,
}

impl Reference for Clock {
    fn reference(&mut self, x: u64) -> bool {
        if let Some(&frame) = self.frame_of.get(&x) {
            self.frames[frame].1 = true;
            return true;
        }
        if self.frames.len() < self.pages {
            self.frame_of.insert(x, self.frames.len());
            self.frames.push((x, false));
            return false;
        }
        while self.frames[self.hand].1 {
            self.frames[self.hand].1 = false;
            self.hand = (self.hand + 1) % self.pages;
        }
        self.frame_of.remove(&self.frames[self.hand].0);
        self.frame_of.insert(x, self.hand);
        self.frames[self.hand] = (x, false);
        self.hand = (self.hand + 1) % self.pages;
        false
    }
}

/// Arlitt et al.: K = F + L; the page of lowest K is evicted, and L becomes its K. Ties by the last reference.
struct Lfuda {
    pages: usize,
    /// F, K, time of the last reference.
    entries: HashMap<u64, (u64, u64, u64)>,
    queue: BTreeSet<(u64, u64, u64)>,
    l: u64,
    time: u64,
}

impl Reference for Lfuda {
    fn reference(&mut self, x: u64) -> bool {
        self.time += 1;
        let found = self.entries.get(&x).copied();
        if let Some((_, k, time)) = found {
            self.queue.remove(&(k, time, x));
        } else if self.entries.len() == self.pages {
            let (k, _, evicted) = self.queue.pop_first().unwrap();
            self.entries.remove(&evicted);
            self.l = k;
        }
        let f = found.map_or(0, |(f, _, _)| f) + 1;
        self.entries.insert(x, (f, f + self.l, self.time));
        self.queue.insert((f + self.l, self.time, x));
        found.is_some()
    }
}

/// Megiddo and Modha, Figure 4.
struct Arc {
    c: usize,
    p: f64,
    t1: Recency,
    t2: Recency,
    b1: Recency,
    b2: Recency,
}

impl Arc {
    fn new(c: usize) -> Self {
        let list = Recency::default;
        Self { c, p: 0.0, t1: list(), t2: list(), b1: list(), b2: list() }
    }

    fn replace(&mut self, is_in_b2: bool) {
        let t1 = self.t1.len() as f64;
        if self.t1.len() >= 1 && ((is_in_b2 && t1 == self.p) || t1 > self.p) {
            let lru = self.t1.take_lru().unwrap();
            self.b1.put_mru(lru);
        } else {
            let lru = self.t2.take_lru().unwrap();
            self.b2.put_mru(lru);
        }
    }
}

impl Reference for Arc {
    fn reference(&mut self, x: u64) -> bool {
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        if self.t1.remove(x) || self.t2.contains(x) {
            self.t2.put_mru(x);
            return true;
        }
        if self.b1.contains(x) {
            let delta = if b1 >= b2 { 1.0 } else { b2 / b1 };
            self.p = f64::min(self.p + delta, self.c as f64);
            self.replace(false);
            self.b1.remove(x);
            self.t2.put_mru(x);
        } else if self.b2.contains(x) {
            let delta = if b2 >= b1 { 1.0 } else { b1 / b2 };
            self.p = f64::max(self.p - delta, 0.0);
            self.replace(true);
            self.b2.remove(x);
            self.t2.put_mru(x);
        } else {
            let l1 = self.t1.len() + self.b1.len();
            let both = l1 + self.t2.len() + self.b2.len();
            if l1 == self.c {
                if self.t1.len() < self.c {
                    self.b1.take_lru();
                    self.replace(false);
                } else {
                    self.t1.take_lru();
                }
            } else if both >= self.c {
                if both == 2 * self.c {
                    self.b2.take_lru();
                }
                self.replace(false);
            }
            self.t1.put_mru(x);
        }
        false
    }
}

/// Johnson and Shasha, Figure 2.
#[derive(Default)]
struct TwoQ {
    pages: usize,
    kin: usize,
    kout: usize,
    a1in: Recency,
    a1out: Recency,
    am: Recency,
}

impl TwoQ {
    fn reclaim(&mut self) {
        if self.a1in.len() + self.am.len() < self.pages {
            return;
        }
        if self.a1in.len() > self.kin {
            let y = self.a1in.take_lru().unwrap();
            self.a1out.put_mru(y);
            if self.a1out.len() > self.kout {
                self.a1out.take_lru();
            }
        } else {
            self.am.take_lru();
        }
    }
}

impl Reference for TwoQ {
    fn reference(&mut self, x: u64) -> bool {
        if self.am.contains(x) {
            self.am.put_mru(x);
            return true;
        }
        if self.a1in.contains(x) {
            return true;
        }
        // The figure does not define when x leaves A1out; here it does before another page enters.
        if self.a1out.remove(x) {
            self.reclaim();
            self.am.put_mru(x);
        } else {
            self.reclaim();
            self.a1in.put_mru(x);
        }
        false
    }
}

/// Karedla et al., from the description in the text.
#[derive(Default)]
struct Slru {
    pages: usize,
    protected_pages: usize,
    probationary: Recency,
    protected: Recency,
}

impl Slru {
    fn len(&self) -> usize {
        self.probationary.len() + self.protected.len()
    }

    fn contains(&self, x: u64) -> bool {
        self.probationary.contains(x) || self.protected.contains(x)
    }

    fn next_victim(&self) -> Option<u64> {
        self.probationary.lru().or_else(|| self.protected.lru())
    }

    fn evict(&mut self) {
        if self.probationary.take_lru().is_none() {
            self.protected.take_lru();
        }
    }
}

impl Reference for Slru {
    fn reference(&mut self, x: u64) -> bool {
        if self.probationary.remove(x) || self.protected.contains(x) {
            self.protected.put_mru(x);
            if self.protected.len() > self.protected_pages {
                let moved = self.protected.take_lru().unwrap();
                self.probationary.put_mru(moved);
            }
            return true;
        }
        if self.len() == self.pages {
            self.evict();
        }
        self.probationary.put_mru(x);
        false
    }
}

/// Yang et al., Algorithm 1; an oversized main queue is reduced at the next eviction, as in libCacheSim.
#[derive(Default)]
struct S3Fifo {
    pages: usize,
    small: VecDeque<u64>,
    main: VecDeque<u64>,
    ghost: Recency,
    freq: HashMap<u64, u8>,
}

impl S3Fifo {
    fn main_pages(&self) -> usize {
        self.pages - self.pages / 10
    }

    fn evict(&mut self) {
        if self.main.len() > self.main_pages() || self.small.is_empty() {
            self.evict_main();
        } else {
            self.evict_small();
        }
    }

    fn evict_small(&mut self) {
        while let Some(t) = self.small.pop_back() {
            if self.freq[&t] > 1 {
                self.freq.insert(t, 0);
                self.main.push_front(t);
            } else {
                self.freq.remove(&t);
                self.ghost.put_mru(t);
                if self.ghost.len() > self.main_pages() {
                    self.ghost.take_lru();
                }
                return;
            }
        }
    }

    fn evict_main(&mut self) {
        while let Some(t) = self.main.pop_back() {
            let freq = self.freq[&t];
            if freq == 0 {
                self.freq.remove(&t);
                return;
            }
            self.freq.insert(t, freq - 1);
            self.main.push_front(t);
        }
    }
}

impl Reference for S3Fifo {
    fn reference(&mut self, x: u64) -> bool {
        if let Some(freq) = self.freq.get_mut(&x) {
            *freq = (*freq + 1).min(3);
            return true;
        }
        let is_ghost = self.ghost.remove(x);
        while self.freq.len() >= self.pages {
            self.evict();
        }
        if is_ghost {
            self.main.push_front(x);
        } else {
            self.small.push_front(x);
        }
        self.freq.insert(x, 0);
        false
    }
}

/// Zhang et al., Algorithm 1. The stamp of a page is the time of its insertion; the hand is a stamp.
#[derive(Default)]
struct Sieve {
    pages: usize,
    /// Pages by stamp: the tail is first.
    queue: BTreeMap<u64, u64>,
    /// Stamp and visited bit.
    cached: HashMap<u64, (u64, bool)>,
    hand: u64,
    clock: u64,
}

impl Reference for Sieve {
    fn reference(&mut self, x: u64) -> bool {
        if let Some((_, visited)) = self.cached.get_mut(&x) {
            *visited = true;
            return true;
        }
        if self.cached.len() == self.pages {
            loop {
                let at_hand = self.queue.range(self.hand..).next().or_else(|| self.queue.first_key_value());
                let (&stamp, &page) = at_hand.unwrap();
                self.hand = stamp + 1;
                let visited = &mut self.cached.get_mut(&page).unwrap().1;
                if !*visited {
                    self.queue.remove(&stamp);
                    self.cached.remove(&page);
                    // Beyond the head the hand is NIL, and the page that enters now is not next.
                    if self.queue.range(self.hand..).next().is_none() {
                        self.hand = 0;
                    }
                    break;
                }
                *visited = false;
            }
        }
        self.clock += 1;
        self.queue.insert(self.clock, x);
        self.cached.insert(x, (self.clock, false));
        false
    }
}

/// TinyLFU with a doorkeeper: counters in maps by index, and the hash functions of the policy, on which its collisions depend.
struct TinyLfu {
    pages: u128,
    counters: HashMap<(u64, u128), u64>,
    doorkeeper: BTreeSet<u128>,
    size: u128,
}

impl TinyLfu {
    /// Hash `n` of a page, 0 to `below` - 1.
    fn hash(x: u64, n: u64, below: u128) -> u128 {
        let mix = |value: u64, factor: u128| {
            let product = u128::from(value) * factor;
            (product >> 64) as u64 ^ product as u64
        };
        let first = mix(x ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db);
        let step = mix(first ^ 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3);
        (u128::from(first.wrapping_add(n.wrapping_mul(step))) * below) >> 64
    }

    /// The counter of a page in each of four rows of four counters for each page of the cache.
    fn counters_of(&self, x: u64) -> [(u64, u128); 4] {
        [0, 1, 2, 3].map(|row| (row, Self::hash(x, row, 4 * self.pages)))
    }

    /// The bits of a page among 64 for each page of the cache.
    fn bits_of(&self, x: u64) -> [u128; 4] {
        [4, 5, 6, 7].map(|n| Self::hash(x, n, 64 * self.pages))
    }

    fn is_in_doorkeeper(&self, x: u64) -> bool {
        self.bits_of(x).iter().all(|bit| self.doorkeeper.contains(bit))
    }

    fn count(&mut self, x: u64, times: u64) {
        for counter in self.counters_of(x) {
            let count = self.counters.entry(counter).or_default();
            *count = (*count + times).min(15);
        }
    }

    fn add(&mut self, x: u64) {
        if self.is_in_doorkeeper(x) {
            self.count(x, 1);
        } else {
            self.doorkeeper.extend(self.bits_of(x));
        }
        self.size += 1;
        if self.size == 10 * self.pages {
            self.size /= 2;
            self.doorkeeper.clear();
            self.counters.values_mut().for_each(|count| *count /= 2);
        }
    }

    fn estimate(&self, x: u64) -> u64 {
        let counts = self.counters_of(x).map(|counter| self.counters.get(&counter).copied().unwrap_or(0));
        counts[0].min(counts[1]).min(counts[2]).min(counts[3]) + u64::from(self.is_in_doorkeeper(x))
    }
}

/// Einziger et al., section 4: an LRU window of 1 %, and SLRU behind TinyLFU. Until the cache is half full TinyLFU has no collisions. The
/// page that enters is counted after the decision on the one that leaves.
struct WTinyLfu {
    pages: usize,
    window_pages: usize,
    window: Recency,
    main: Slru,
    counts: TinyLfu,
    /// Count and doorkeeper of each page until the cache is half full.
    exact: Option<HashMap<u64, (u64, bool)>>,
}

impl WTinyLfu {
    fn new(pages: usize) -> Self {
        let window_pages = (pages / 100).max(1);
        let main_pages = pages - window_pages;
        Self {
            pages,
            window_pages,
            window: Recency::default(),
            main: Slru { pages: main_pages, protected_pages: main_pages * 8 / 10, ..Slru::default() },
            counts: TinyLfu { pages: pages as u128, counters: HashMap::new(), doorkeeper: BTreeSet::new(), size: 0 },
            exact: Some(HashMap::new()),
        }
    }

    /// Moves the least recently used page of an oversized window to the main cache, or evicts it or a page there.
    fn shrink_window(&mut self) {
        if self.window.len() <= self.window_pages {
            return;
        }
        let candidate = self.window.take_lru().unwrap();
        if self.main.len() == self.main.pages {
            match self.main.next_victim() {
                Some(victim) if self.counts.estimate(candidate) > self.counts.estimate(victim) => self.main.evict(),
                _ => return,
            }
        }
        self.main.probationary.put_mru(candidate);
    }
}

impl Reference for WTinyLfu {
    fn reference(&mut self, x: u64) -> bool {
        let hit = if self.window.contains(x) {
            self.window.put_mru(x);
            true
        } else if self.main.contains(x) {
            self.main.reference(x)
        } else {
            self.window.put_mru(x);
            self.shrink_window();
            false
        };
        let Some(exact) = &mut self.exact else {
            self.counts.add(x);
            return hit;
        };
        let (count, is_in_doorkeeper) = exact.entry(x).or_default();
        *count = (*count + u64::from(*is_in_doorkeeper)).min(15);
        *is_in_doorkeeper = true;
        self.counts.size += 1;
        if self.counts.size == 10 * self.counts.pages {
            self.counts.size /= 2;
            exact.values_mut().for_each(|(count, is_in_doorkeeper)| (*count, *is_in_doorkeeper) = (*count / 2, false));
        }
        if 2 * (self.window.len() + self.main.len()) >= self.pages {
            for (x, (count, is_in_doorkeeper)) in self.exact.take().unwrap() {
                self.counts.count(x, count);
                if is_in_doorkeeper {
                    self.counts.doorkeeper.extend(self.counts.bits_of(x));
                }
            }
        }
        hit
    }
}
