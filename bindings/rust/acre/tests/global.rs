//! The global allocator: layouts, threads, and whose malloc is whose.

use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::cell::RefCell;
use std::ffi::{c_char, c_void, CString};
use std::sync::mpsc::sync_channel;
use std::thread;

#[global_allocator]
static A: acre::Acre = acre::Acre;

extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
    fn strdup(text: *const c_char) -> *mut c_char;
}

/// Sizes around every boundary: of small classes, of large and of huge blocks.
const SIZES: [usize; 16] =
    [1, 7, 8, 9, 16, 24, 100, 112, 4095, 4096, 10_000, 32_768, 32_769, 1 << 20, (4 << 20) + 1, 65 << 20];

fn alignments() -> impl Iterator<Item = usize> {
    [1, 2, 4, 8, 16, 32, 64, 256, 4096, 1 << 16, 1 << 21, 1 << 22].into_iter()
}

/// Some places in a block, and its last byte.
fn places(size: usize) -> impl Iterator<Item = usize> {
    (0..size).step_by(size / 64 + 1).chain([size - 1])
}

unsafe fn fill(block: *mut u8, size: usize, seed: usize) {
    for offset in places(size) {
        block.add(offset).write((offset ^ seed) as u8);
    }
}

unsafe fn check(block: *mut u8, size: usize, filled: usize, seed: usize) {
    for offset in places(filled).filter(|offset| *offset < size) {
        assert_eq!(block.add(offset).read(), (offset ^ seed) as u8, "offset {offset} of {size}");
    }
}

#[test]
fn blocks_are_acres_as_large_and_as_aligned_as_asked() {
    for align in alignments() {
        for size in SIZES {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: blocks of the layout's size, freed with the layout.
            unsafe {
                let blocks = [alloc(layout), alloc(layout)];
                for block in blocks {
                    assert!(!block.is_null() && block as usize % align == 0, "{size} bytes at {align}");
                    assert!(acre::owns(block));
                    assert!(acre::usable_size(&*block) >= Some(size));
                    fill(block, size, align);
                }
                for block in blocks {
                    check(block, size, size, align);
                    dealloc(block, layout);
                }
            }
        }
    }
}

#[test]
fn zeroed_blocks_are_zero_where_others_wrote_before() {
    for align in alignments() {
        for size in SIZES {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: as above.
            unsafe {
                let block = alloc(layout);
                block.write_bytes(0xff, size.min(100_000));
                dealloc(block, layout);
                let block = alloc_zeroed(layout);
                assert!(block as usize % align == 0);
                let bytes = std::slice::from_raw_parts(block, size);
                assert!(places(size).chain(0..size.min(100_000)).all(|place| bytes[place] == 0));
                dealloc(block, layout);
            }
        }
    }
}

#[test]
fn realloc_keeps_what_was_there_and_the_alignment() {
    for align in alignments() {
        for from in SIZES {
            for to in [1, 8, 17, 5000, 40_000, 3 << 20] {
                let layout = Layout::from_size_align(from, align).unwrap();
                // SAFETY: as above.
                unsafe {
                    let block = alloc(layout);
                    fill(block, from, to);
                    let moved = realloc(block, layout, to);
                    assert!(!moved.is_null() && moved as usize % align == 0, "{from} to {to} at {align}");
                    check(moved, to, from, to);
                    fill(moved, to, from);
                    dealloc(moved, Layout::from_size_align(to, align).unwrap());
                }
            }
        }
    }
}

#[test]
fn a_large_vector_grows_where_it_is_or_by_moving_its_pages() {
    let mut numbers = Vec::new();
    for number in 0..5_000_000_u64 {
        numbers.push(number);
    }
    numbers.truncate(1000);
    numbers.shrink_to_fit();
    assert_eq!(numbers.iter().sum::<u64>(), 499_500);
    assert!(acre::usable_size(numbers.as_slice()).unwrap() < 16_000);
}

#[test]
fn an_absurd_request_is_refused() {
    assert!(Vec::<u8>::new().try_reserve(isize::MAX as usize).is_err());
    let layout = Layout::from_size_align(1 << 62, 1 << 30).unwrap();
    // SAFETY: not dereferenced.
    assert!(unsafe { alloc(layout) }.is_null());
    assert!(unsafe { alloc_zeroed(layout) }.is_null());
}

/// Each thread frees what the one before it has allocated.
#[test]
fn threads_hand_blocks_on() {
    const THREADS: usize = 6;
    const ROUNDS: usize = 3000;
    let (to_first, mut from) = sync_channel::<Vec<Box<[usize]>>>(16);
    let first = to_first;
    let threads: Vec<_> = (1..THREADS)
        .map(|thread| {
            let (to, next) = sync_channel(16);
            let before = std::mem::replace(&mut from, next);
            thread::spawn(move || {
                for (round, blocks) in before.into_iter().enumerate() {
                    for block in &blocks {
                        assert!(block.iter().all(|word| *word == round), "thread {thread}");
                    }
                    let copies = blocks.iter().map(|block| vec![round; block.len()].into_boxed_slice()).collect();
                    drop(blocks);
                    to.send(copies).unwrap();
                }
            })
        })
        .collect();
    let writer = thread::spawn(move || {
        for round in 0..ROUNDS {
            let lengths = [1, 3, 17, 100, 600, if round % 50 == 0 { 20_000 } else { 5 }];
            first.send(lengths.iter().map(|length| vec![round; *length].into_boxed_slice()).collect()).unwrap();
        }
    });
    assert_eq!(from.into_iter().map(|blocks| blocks.len()).sum::<usize>(), 6 * ROUNDS);
    writer.join().unwrap();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn destructors_of_thread_locals_allocate_and_free() {
    struct Late(Vec<String>);
    impl Drop for Late {
        fn drop(&mut self) {
            self.0.extend((0..100).map(|number| format!("text {number}")));
            assert!(acre::owns(self.0[99].as_ptr()));
        }
    }
    thread_local!(static LATE: RefCell<Late> = RefCell::new(Late(vec!["early".into()])));
    for _ in 0..50 {
        thread::spawn(|| LATE.with(|late| late.borrow_mut().0.push("used".into()))).join().unwrap();
    }
}

/// Whether malloc is acre's, in the program and in the C library's own calls.
#[test]
fn malloc_is_acres_only_if_asked_for() {
    let text = CString::new("a text").unwrap();
    // SAFETY: C functions as they are declared, and their blocks freed once.
    unsafe {
        let takes_over = cfg!(feature = "override") || option_env!("ACRE_SYS_USE_PKG_CONFIG") == Some("1");
        for block in [malloc(100), strdup(text.as_ptr()).cast()] {
            assert_eq!(acre::owns(block), takes_over);
            free(block);
        }
    }
}

#[test]
fn values_that_begin_no_block_have_no_usable_size() {
    let pair = Box::new((1_u64, 2_u64));
    assert_eq!(acre::usable_size(&pair.1), None);
    assert_eq!(acre::usable_size(&()), None);
    assert_eq!(acre::usable_size::<[u8]>(&[]), None);
    assert_eq!(acre::usable_size("constant"), None);
    assert!(!acre::owns(std::ptr::null::<u8>()) && !acre::owns(&pair));
    assert!(acre::usable_size(&*pair) >= Some(16));
}

#[test]
fn the_version_is_the_crates() {
    assert_eq!(acre::version(), env!("CARGO_PKG_VERSION"));
}
