//! Heaps as allocators of collections, alone and in many threads.
#![cfg(feature = "allocator-api2")]

use std::alloc::Layout;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;

use acre::{Acre, Decay, ErrorKind, Failure, Heap, SharedHeap};
use allocator_api2::alloc::Allocator;
use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;

#[global_allocator]
static A: acre::Acre = acre::Acre;

/// Every call of the trait, with contents, at every alignment.
fn try_allocator(place: &impl Allocator, is_its_own: impl Fn(&[u8]) -> bool) {
    for align in (0..=22).map(|power| 1_usize << power) {
        for size in [0, 1, 8, 9, 100, 5000, 40_000] {
            let old = Layout::from_size_align(size, align).unwrap();
            for new_size in [0, 1, 8, 24, 3000, 70_000] {
                let new = Layout::from_size_align(new_size, align).unwrap();
                // SAFETY: layouts fit, and new ones are larger or smaller as the calls want it.
                unsafe {
                    let block = place.allocate_zeroed(old).unwrap();
                    assert!(block.len() == size && block.as_ptr().cast::<u8>() as usize % align == 0);
                    let bytes = &mut *block.as_ptr();
                    assert!(bytes.iter().all(|byte| *byte == 0) && (size == 0 || is_its_own(bytes)));
                    bytes.fill(7);
                    let start = block.cast();
                    let moved = if new_size >= size {
                        place.grow_zeroed(start, old, new).unwrap()
                    } else {
                        place.shrink(start, old, new).unwrap()
                    };
                    assert!(moved.len() == new_size && moved.as_ptr().cast::<u8>() as usize % align == 0);
                    let bytes = &*moved.as_ptr();
                    assert!(new_size == 0 || is_its_own(bytes));
                    assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == if at < size { 7 } else { 0 }));
                    place.deallocate(moved.cast(), new);
                }
            }
        }
    }
}

#[test]
fn heaps_and_acre_are_allocators() {
    let heap = Heap::new().unwrap();
    try_allocator(&&heap, |bytes| heap.contains(bytes));
    let shared = SharedHeap::new(Heap::new().unwrap());
    try_allocator(&shared, |bytes| shared.contains(bytes));
    try_allocator(&Acre, |bytes| acre::usable_size(bytes) >= Some(bytes.len()));
}

#[test]
fn an_alignment_may_change_with_a_resize() {
    let heap = Heap::new().unwrap();
    let place = &heap;
    let (small, large) = (Layout::from_size_align(100, 1).unwrap(), Layout::from_size_align(50_000, 4096).unwrap());
    // SAFETY: layouts fit.
    unsafe {
        let block = place.allocate(small).unwrap();
        (*block.as_ptr()).fill(3);
        let block = place.grow(block.cast(), small, large).unwrap();
        assert!(block.as_ptr().cast::<u8>() as usize % 4096 == 0 && (&(*block.as_ptr()))[..100] == [3; 100]);
        let block = place.shrink(block.cast(), large, Layout::from_size_align(60, 128).unwrap()).unwrap();
        assert!(block.as_ptr().cast::<u8>() as usize % 128 == 0 && (*block.as_ptr()) == [3; 60]);
        place.deallocate(block.cast(), Layout::from_size_align(60, 128).unwrap());
    }
}

#[test]
fn a_limit_refuses_and_a_reset_frees() {
    let mut heap = Heap::builder().name("limited").limit(4 << 20).build().unwrap();
    for _ in 0..20 {
        let mut all = std::vec::Vec::new();
        let error = loop {
            let mut block = Vec::<u8, _>::new_in(&heap);
            match block.try_reserve_exact(100_000) {
                Ok(()) => all.push(block),
                Err(error) => break error,
            }
        };
        assert!(all.len() > 20 && heap.bytes() <= 4 << 20, "{} blocks: {error}", all.len());
        std::mem::forget(all);
        heap.reset();
        assert_eq!(heap.bytes(), 0);
    }
}

#[test]
fn a_soft_limit_calls_the_function() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let called = move |bytes| {
        assert!(bytes > 1 << 20);
        counted.fetch_add(1, Ordering::Relaxed);
    };
    let heap = Heap::builder().soft_limit(1 << 20, called).decay(Decay::AtOnce, Decay::Never).build().unwrap();
    let small = Vec::<u8, _>::with_capacity_in(1000, &heap);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    let large = Vec::<u8, _>::with_capacity_in(3 << 20, &heap);
    assert!(calls.load(Ordering::Relaxed) > 0);
    drop((small, large));
    assert_eq!(Arc::strong_count(&calls), 2);
    drop(heap);
    assert_eq!(Arc::strong_count(&calls), 1, "the function goes with its heap");
}

#[test]
fn a_heap_may_lie_in_a_file() {
    let folder = std::env::temp_dir();
    let heap = Heap::builder().file_in(&folder, 8 << 20, Failure::Refuse).build().unwrap();
    let mut text = Vec::new_in(&heap);
    text.extend_from_slice(&[b'x'; 100_000]);
    assert!(heap.contains(text.as_slice()));
    assert!(Vec::<u8, _>::new_in(&heap).try_reserve(16 << 20).is_err());
    let error = Heap::builder().name("lost").file_in("/no/such", 0, Failure::Refuse).build().unwrap_err();
    assert_eq!(error.to_string(), "HeapBuilder::build \"lost\": no file can be made in /no/such");
    // Nor in a file, which others might write to.
    let file = folder.join(format!("acre-test.{}", std::process::id()));
    std::fs::write(&file, "").unwrap();
    assert_eq!(Heap::builder().file_in(&file, 0, Failure::Refuse).build().unwrap_err().kind(), ErrorKind::File);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(Heap::builder().name("a\0b").build().unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn threads_share_a_heap() {
    let heap = Heap::new().unwrap();
    let sums: std::vec::Vec<u64> = thread::scope(|scope| {
        let threads: std::vec::Vec<_> = (0..4)
            .map(|thread| {
                let heap = &heap;
                scope.spawn(move || {
                    let mut lists = std::vec::Vec::new();
                    for round in 0..500_u64 {
                        let mut list = Vec::new_in(heap);
                        list.extend((0..round % 70).map(|number| Box::new_in(number + thread, heap)));
                        lists.push(list);
                        if round % 3 == 0 {
                            lists.swap_remove(round as usize % lists.len());
                        }
                    }
                    lists.iter().flatten().map(|number| **number).sum()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(sums.windows(2).all(|pair| pair[0] < pair[1]), "{sums:?}");
}

/// Each heap goes with its last collection, which another thread has, while others make heaps of their own.
#[test]
fn heaps_are_dropped_while_other_threads_use_theirs() {
    let (to, from) = mpsc::sync_channel::<Vec<Box<[u8], SharedHeap>, SharedHeap>>(8);
    thread::scope(|scope| {
        for thread in 0..3_u8 {
            let to = to.clone();
            scope.spawn(move || {
                for round in 0..400_usize {
                    let heap = SharedHeap::from(Heap::builder().name("a request's").build().unwrap());
                    let mut list = Vec::new_in(heap.clone());
                    for length in [1, 10, 100, 1000, 50_000 * usize::from(round % 40 == 0)] {
                        let mut text = Vec::new_in(heap.clone());
                        text.resize(length, thread);
                        list.push(text.into_boxed_slice());
                    }
                    to.send(list).unwrap();
                }
            });
        }
        drop(to);
        for list in from {
            let heap = list.allocator().clone();
            let first = list[0][0];
            for text in list {
                assert!(text.iter().all(|byte| *byte == first) && (text.is_empty() || heap.contains(&*text)));
            }
        }
    });
}
