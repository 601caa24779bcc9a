#![doc = include_str!("../README.md")]
#![no_std]
#![warn(missing_docs)]
// The front page is about the whole crate.
#![cfg_attr(not(feature = "std"), allow(rustdoc::broken_intra_doc_links))]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub use acre_sys as sys;

#[cfg(feature = "allocator-api2")]
mod blocks;
pub mod ctl;
mod error;
mod global;
mod heap;
#[cfg(feature = "std")]
pub mod profile;
pub mod stats;
mod tag;

pub use error::{Error, ErrorKind};
pub use global::Acre;
pub use heap::{Decay, Failure, Heap, HeapBuilder, SharedHeap};
pub use tag::{Scope, Tag, TagInfo, Tagged};

use alloc::boxed::Box;
use core::ffi::{c_void, CStr};

/// The version of acre in use, such as `0.1.0`.
pub fn version() -> &'static str {
    // SAFETY: the text is a constant.
    unsafe { CStr::from_ptr(sys::acre_version()) }.to_str().unwrap_or("")
}

/// Whether `block` is the start of a live block of acre's. Any pointer is allowed.
///
/// ```
/// # #[global_allocator] static A: acre::Acre = acre::Acre;
/// let number = Box::new(7);
/// assert!(acre::owns(&*number));
/// ```
pub fn owns<T: ?Sized>(block: *const T) -> bool {
    // SAFETY: any pointer is allowed.
    unsafe { sys::acre_owns(block.cast()) != 0 }
}

/// The bytes that the program may use in the block that begins with `value`, at least the value's size. `None`: no block
/// of acre's begins there.
///
/// ```
/// # #[global_allocator] static A: acre::Acre = acre::Acre;
/// let text = String::from("seventeen bytes …");
/// assert!(acre::usable_size(text.as_str()) >= Some(text.len()));
/// assert_eq!(acre::usable_size(&text), None); // lies on the stack
/// ```
pub fn usable_size<T: ?Sized>(value: &T) -> Option<usize> {
    // A value without a size may lie anywhere, also in a block that somebody else frees at this moment.
    if core::mem::size_of_val(value) == 0 || !owns(value) {
        return None;
    }
    // SAFETY: the value lies at the start of a live block, and is borrowed: nobody frees the block meanwhile.
    Some(unsafe { sys::acre_malloc_usable_size((value as *const T).cast()) })
}

/// Returns the unused pages of all arenas to the system.
pub fn purge() {
    // Fails only for names that do not exist.
    let _ = ctl::act("arena.4096.purge");
}

/// Empties the calling thread's cache, and returns all unused pages but `pad` bytes to the system. Returns whether any
/// memory was returned.
pub fn trim(pad: usize) -> bool {
    // SAFETY: has no preconditions.
    unsafe { sys::acre_malloc_trim(pad) != 0 }
}

/// Sets the function that is called with the bytes held and the limit when more than the option `soft_limit` is held
/// although all unused memory was returned. A later call replaces the function; the old one is never freed, since
/// another thread may be in it.
///
/// One thread at a time makes the call, inside an allocation or a free. The function may allocate and free. It must not
/// wait for a lock that its thread may hold around an allocation: setting a flag or trying the lock is safe. A panic in
/// it ends the program.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// static IS_SHORT: AtomicBool = AtomicBool::new(false);
/// acre::on_soft_limit(|_held, _limit| IS_SHORT.store(true, Ordering::Relaxed));
/// ```
pub fn on_soft_limit<F: Fn(usize, usize) + Send + Sync + 'static>(callback: F) {
    unsafe extern "C" fn call<F: Fn(usize, usize)>(held: usize, limit: usize, argument: *mut c_void) {
        // SAFETY: `argument` is the leaked F.
        unsafe { (*argument.cast::<F>())(held, limit) }
    }
    let argument: *mut F = Box::leak(Box::new(callback));
    // SAFETY: the function and its argument live for ever, and may be called by any thread.
    unsafe { sys::acre_on_soft_limit(Some(call::<F>), argument.cast()) }
}

/// Sets options of acre for the whole program (docs/options.md lists them), in the program itself: at most once, in any
/// of its modules. `/etc/acre.conf` counts less, and the environment variable `ACRE_CONF` more.
///
/// ```
/// # #[global_allocator] static A: acre::Acre = acre::Acre;
/// acre::conf!("dirty_decay_ms:1000,arenas:4");
/// # fn main() { assert_eq!(acre::ctl::get::<isize>("opt.dirty_decay_ms").unwrap(), 1000); }
/// ```
#[macro_export]
macro_rules! conf {
    ($text:literal) => {
        #[doc(hidden)]
        #[no_mangle]
        #[allow(non_upper_case_globals)]
        pub static acre_conf: &$crate::ConfText = $crate::ConfText::new(concat!($text, "\0"));
    };
}

/// What [`conf!`] defines. acre reads it as a C string.
#[doc(hidden)]
#[repr(transparent)]
pub struct ConfText(core::ffi::c_char);

impl ConfText {
    #[doc(hidden)]
    pub const fn new(text: &'static str) -> &'static Self {
        assert!(text.as_bytes()[text.len() - 1] == 0, "the text ends with a 0");
        // SAFETY: the text lives for ever, and C reads on to its end.
        unsafe { &*(text.as_ptr().cast::<Self>()) }
    }
}
