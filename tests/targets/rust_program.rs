// SPDX-License-Identifier: GPL-2.0-or-later
//! rust_program [MS]: for MS milliseconds of CPU time most of it in a generic function, called
//! through a trait object and closures. Prints {"rounds"}.

use std::collections::HashMap;

extern "C" {
    fn clock() -> i64; // of the C library: CPU time of the process, in microseconds
}

trait Scorer {
    fn score(&self, text: &[u8]) -> u64;
}

struct Hashing {
    seed: u64,
}

#[inline(never)]
fn fold_bytes<F: Fn(u64, u8) -> u64>(text: &[u8], start: u64, step: F) -> u64 {
    let mut state = start;
    for _ in 0..200 {
        for &byte in text {
            state = step(state, byte);
        }
    }
    state
}

impl Scorer for Hashing {
    #[inline(never)]
    fn score(&self, text: &[u8]) -> u64 {
        fold_bytes(text, self.seed, |state, byte| {
            (state ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3).rotate_left(5)
        })
    }
}

#[inline(never)]
fn count_words(words: &[String], scorer: &dyn Scorer) -> HashMap<u64, usize> {
    let mut counts = HashMap::new();
    for word in words {
        *counts.entry(scorer.score(word.as_bytes()) % 64).or_insert(0) += 1;
    }
    counts
}

fn main() {
    let milliseconds = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(800);
    let words: Vec<String> = (0..200).map(|i| format!("word number {i} of the list")).collect();
    let scorer = Hashing { seed: 0xcbf2_9ce4_8422_2325 };
    let (mut rounds, mut seen) = (0, 0);
    while unsafe { clock() } < 1000 * milliseconds {
        seen += count_words(&words, &scorer).len();
        rounds += 1;
    }
    println!("{{\"rounds\": {rounds}, \"seen\": {seen}}}");
}
