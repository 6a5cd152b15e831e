// SPDX-License-Identifier: GPL-2.0-or-later
// Leaks vectors in one function, drops them in another, and prints what it has leaked.
#[inline(never)]
fn leaks(nr: usize, size: usize) -> usize {
    for i in 0..nr {
        std::mem::forget(std::hint::black_box(vec![i as u8; size]));
    }
    nr * size
}

#[inline(never)]
fn drops(nr: usize, size: usize) -> usize {
    for i in 0..nr {
        drop(std::hint::black_box(vec![i as u8; size]));
    }
    nr * size
}

fn main() {
    let leaked = leaks(60, 4000);
    let dropped = drops(60, 3000);
    println!("{{\"leaked\": {}, \"dropped\": {}}}", leaked, dropped);
}
