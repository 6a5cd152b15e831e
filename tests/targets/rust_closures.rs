// SPDX-License-Identifier: GPL-2.0-or-later
// Closures whose shares of the time are known.
use std::hint::black_box;

#[inline(never)]
fn apply(n: u64, f: &dyn Fn(u64) -> u64) -> u64 {
    let mut s = 0;
    for i in 0..n {
        s ^= f(i ^ s);
    }
    s
}

fn main() {
    let n: u64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let heavy = |i: u64| {
        let mut x = i;
        for k in 0..30 {
            x = (x | 1) * 3 + k;
            x ^= x >> 7;
        }
        x
    };
    let light = |i: u64| {
        let mut x = i;
        for k in 0..10 {
            x = (x | 1) * 5 + k;
            x ^= x >> 9;
        }
        x
    };
    black_box(apply(n, black_box(&heavy)) ^ apply(n, black_box(&light)));
}
