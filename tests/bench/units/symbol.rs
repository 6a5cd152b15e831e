// SPDX-License-Identifier: GPL-2.0-or-later
//! One unit as large Rust programs have them: generic containers, closures, iterator
//! chains and formatting, instantiated for several types. bench_symbol.py links many
//! copies of it; nobody runs them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::{self, Display, Write};

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key<const N: usize> {
    value: u64,
    text: String,
}

impl<const N: usize> Display for Key<N> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}:{}/{}", self.text, self.value, N)
    }
}

#[derive(Debug)]
pub enum Fault<const N: usize> {
    Empty,
    Number(std::num::ParseIntError),
    Unknown(Key<N>),
}

impl<const N: usize> From<std::num::ParseIntError> for Fault<N> {
    fn from(error: std::num::ParseIntError) -> Self {
        Fault::Number(error)
    }
}

pub struct Job<const N: usize> {
    lists: BTreeMap<Key<N>, Vec<String>>,
    index: HashMap<String, usize>,
    queue: VecDeque<Key<N>>,
    weigh: Box<dyn Fn(&Key<N>) -> u64>,
}

impl<const N: usize> Job<N> {
    pub fn new() -> Self {
        Job {
            lists: BTreeMap::new(),
            index: HashMap::new(),
            queue: VecDeque::with_capacity(N),
            weigh: Box::new(|key| key.value.wrapping_mul(N as u64)),
        }
    }

    fn add(&mut self, key: Key<N>) {
        let at = self.index.len();

        self.index.entry(key.text.clone()).or_insert(at);
        self.lists.entry(key.clone()).or_default().push(format!("{key}"));
        self.queue.push_back(key);
    }

    fn parse(&mut self, text: &str) -> Result<usize, Fault<N>> {
        if text.is_empty() {
            return Err(Fault::Empty);
        }
        for word in text.split_whitespace().filter(|word| word.len() < 16 + N) {
            let value = word.trim_end_matches(',').parse::<u64>()?;

            self.add(Key { value, text: word.chars().rev().collect() });
        }
        Ok(self.queue.len())
    }

    fn look_up(&self, text: &str) -> Result<usize, Fault<N>> {
        self.index
            .get(text)
            .copied()
            .ok_or_else(|| Fault::Unknown(Key { value: 0, text: text.to_uppercase() }))
    }

    pub fn run(&mut self, rounds: u64) -> Result<String, Fault<N>> {
        let mut out = String::new();
        let mut all: Vec<Key<N>>;

        for round in 0..rounds {
            self.add(Key { value: round * N as u64, text: round.to_string() });
        }
        self.parse("1, 22, 333 4444")?;
        all = self.queue.iter().cloned().collect();
        all.sort_by(|a, b| a.text.cmp(&b.text).then_with(|| b.value.cmp(&a.value)));
        all.dedup_by_key(|key| key.value / 2);
        for (key, words) in &self.lists {
            let _ = write!(out, "{key} {:?} {}", words, self.look_up(&key.text)?);
        }
        let sum: u64 = all
            .iter()
            .zip(all.iter().skip(1))
            .map(|(a, b)| (self.weigh)(a) ^ (self.weigh)(b))
            .filter(|weight| weight % 3 != 0)
            .fold(0, u64::wrapping_add);
        let _ = write!(out, "{sum:#x} {:?}", all.last());
        Ok(out)
    }
}

fn run_all<const N: usize>(rounds: u64) -> usize {
    Job::<N>::new().run(rounds).map_or(0, |text| text.len())
}

#[no_mangle]
pub extern "C" fn unit_run(rounds: i32) -> i32 {
    let rounds = rounds as u64;

    (run_all::<1>(rounds) + run_all::<2>(rounds) + run_all::<3>(rounds) + run_all::<4>(rounds)
        + run_all::<5>(rounds) + run_all::<6>(rounds) + run_all::<7>(rounds)
        + run_all::<8>(rounds)) as i32
}
