//! Tags: scopes, futures, limits, threads.

use std::future::Future;
use std::pin::{pin, Pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread;

use acre::{ErrorKind, Tag};

#[global_allocator]
static A: acre::Acre = acre::Acre;

#[test]
fn blocks_count_for_the_innermost_scope_until_they_are_freed() {
    let (outer, inner) = (Tag::new("outer").unwrap(), Tag::new("inner").unwrap());
    assert_eq!(Tag::in_force(), None);
    let blocks = {
        let _outer = outer.enter().unwrap();
        let a = vec![1_u8; 1000];
        let b = {
            let _inner = inner.enter().unwrap();
            assert_eq!(Tag::in_force(), Some(inner));
            vec![1_u8; 3000]
        };
        let c = {
            let _none = Tag::suspend().unwrap();
            assert_eq!(Tag::in_force(), None);
            vec![1_u8; 5000]
        };
        [a, b, c]
    };
    assert_eq!(Tag::in_force(), None);
    assert_eq!([0, 1, 2].map(|at: usize| Tag::of(blocks[at].as_slice())), [Some(outer), Some(inner), None]);
    assert_eq!(Tag::of(&blocks), None);
    for (tag, block) in [(outer, &blocks[0]), (inner, &blocks[1])] {
        assert_eq!(tag.info().unwrap().live, acre::usable_size(block.as_slice()).unwrap() as u64);
    }
    thread::spawn(move || drop(blocks)).join().unwrap();
    assert_eq!((outer.info().unwrap().live, inner.info().unwrap().live), (0, 0));
    assert!(inner.info().unwrap().peak >= 3000 && inner.info().unwrap().allocated >= 3000);
    assert_eq!(Tag::new("inner").unwrap(), inner);
    assert_eq!(format!("{inner:?}"), "Tag(\"inner\")");
    assert!(Tag::all().any(|tag| tag == inner));
}

#[test]
fn over_aligned_and_zeroed_blocks_count() {
    #[repr(align(4096))]
    struct Page([u8; 4096]);
    let tag = Tag::new("pages").unwrap();
    let scope = tag.enter().unwrap();
    let (page, zeroes) = (Box::new(Page([1; 4096])), vec![0_u8; 70_000]);
    drop(scope);
    assert!(page.0[0] == 1 && &page.0 as *const _ as usize % 4096 == 0);
    assert!(tag.info().unwrap().live >= 74_096);
    drop((page, zeroes));
    assert_eq!(tag.info().unwrap().live, 0);
}

#[test]
fn names_and_depths_have_bounds() {
    for wrong in ["", "a\0b", &"x".repeat(64)] {
        assert_eq!(Tag::new(wrong).unwrap_err().kind(), ErrorKind::Invalid, "{wrong:?}");
    }
    let tag = Tag::new(&"x".repeat(63)).unwrap();
    let mut scopes: Vec<_> = (0..64).map(|_| tag.enter().unwrap()).collect();
    for _ in 0..3 {
        assert_eq!(tag.enter().unwrap_err().kind(), ErrorKind::TooDeep);
    }
    assert_eq!(Tag::in_force(), Some(tag));
    while scopes.pop().is_some() {}
    assert_eq!(Tag::in_force(), None);
}

#[test]
fn at_the_limit_the_function_decides() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let tag = Tag::new("limited").unwrap();
    tag.limit(Some(100_000));
    let _scope = tag.enter().unwrap();
    assert!(Vec::<u8>::new().try_reserve(150_000).is_err());
    assert_eq!(tag.info().unwrap().limit, Some(100_000));
    tag.on_limit(|tag, wanted| {
        ASKED.fetch_add(wanted, Ordering::Relaxed);
        tag.limit(Some(1_000_000));
        true
    });
    let mut kept = Vec::<u8>::new();
    kept.try_reserve(150_000).unwrap();
    assert!(ASKED.load(Ordering::Relaxed) >= 150_000);
    assert!(tag.info().unwrap().refused >= 1);
    tag.limit(None);
    assert_eq!(tag.info().unwrap().limit, None);
}

#[test]
fn a_retired_tag_goes_with_its_last_block() {
    let tag = Tag::new("retired").unwrap();
    let block = {
        let _scope = tag.enter().unwrap();
        Box::new([0_u64; 20])
    };
    tag.retire();
    assert_ne!(Tag::new("retired").unwrap(), tag, "the name is free");
    assert!(tag.info().unwrap().live >= 160);
    drop(block);
    assert_eq!(tag.info().unwrap_err().kind(), ErrorKind::NotFound);
}

/// A future that is pending the first time.
struct Twice(bool);
impl Future for Twice {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

#[test]
fn a_wrapped_future_has_its_tag_in_every_thread_that_polls_it() {
    struct Nothing;
    impl Wake for Nothing {
        fn wake(self: Arc<Self>) {}
    }
    let tag = Tag::new("future").unwrap();
    let mut future: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(tag.wrap(async {
        let before = vec![1_u8; 1000];
        Twice(false).await;
        (before, vec![2_u8; 2000])
    }));
    let waker = Arc::new(Nothing).into();
    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(Tag::in_force(), None);
    let (a, b) = thread::spawn(move || match pin!(future).poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(blocks) => {
            assert_eq!(Tag::in_force(), None);
            blocks
        }
        Poll::Pending => panic!("the future is ready"),
    })
    .join()
    .unwrap();
    assert_eq!([Tag::of(a.as_slice()), Tag::of(b.as_slice())], [Some(tag); 2]);
}
