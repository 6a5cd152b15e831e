// SPDX-License-Identifier: GPL-2.0-or-later
// calls_of_rust: functions, trait objects, closures and a panic that is caught; its own counts.
use std::sync::atomic::{AtomicU64, Ordering};

static PLAIN: AtomicU64 = AtomicU64::new(0);
static DYNAMIC: AtomicU64 = AtomicU64::new(0);
static PANICS: AtomicU64 = AtomicU64::new(0);
static IN_THREADS: AtomicU64 = AtomicU64::new(0);

#[no_mangle]
#[inline(never)]
pub extern "C" fn counted_plain(x: u64) -> u64 {
    PLAIN.fetch_add(1, Ordering::Relaxed);
    x.wrapping_mul(3)
}

#[no_mangle]
#[inline(never)]
pub fn counted_in_threads() {
    IN_THREADS.fetch_add(1, Ordering::Relaxed);
}

#[no_mangle]
#[inline(never)]
pub fn counted_panics(n: u32) {
    PANICS.fetch_add(1, Ordering::Relaxed);
    if n % 2 == 1 {
        std::panic::resume_unwind(Box::new(n));
    }
}

trait Work {
    fn work(&self) -> u64;
}

struct One(u64);

impl Work for One {
    #[inline(never)]
    fn work(&self) -> u64 {
        counted_dynamic(self.0)
    }
}

#[no_mangle]
#[inline(never)]
pub fn counted_dynamic(x: u64) -> u64 {
    DYNAMIC.fetch_add(1, Ordering::Relaxed);
    x + 1
}

fn say(name: &str, counter: &AtomicU64) {
    println!(
        "{{\"function\": \"{}\", \"calls\": {}}}",
        name,
        counter.load(Ordering::Relaxed)
    );
}

fn main() {
    let mut sum = 0u64;
    let objects: Vec<Box<dyn Work>> = (0..37).map(|i| Box::new(One(i)) as Box<dyn Work>).collect();
    for i in 0..1013 {
        sum = sum.wrapping_add(counted_plain(i));
    }
    for object in &objects {
        sum = sum.wrapping_add(object.work());
    }
    for i in 0..51 {
        let caught = std::panic::catch_unwind(|| counted_panics(i)).is_err();
        assert_eq!(caught, i % 2 == 1);
    }
    let threads: Vec<_> = (0..4)
        .map(|_| std::thread::spawn(|| (0..20000).for_each(|_| counted_in_threads())))
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_ne!(sum, 0);
    say("calls_of_rust::counted_plain", &PLAIN);
    say("calls_of_rust::counted_dynamic", &DYNAMIC);
    say("calls_of_rust::counted_panics", &PANICS);
    say("calls_of_rust::counted_in_threads", &IN_THREADS);
}
