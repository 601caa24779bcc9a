#![doc = include_str!("../README.md")]
#![no_std]
#![allow(non_camel_case_types, non_snake_case)]

use core::ffi::{c_char, c_int, c_longlong, c_uint, c_void};
use core::marker::{PhantomData, PhantomPinned};

/// Declares types that C code has only pointers to.
macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        pub struct $name {
            _data: [u8; 0],
            _marker: PhantomData<(*mut u8, PhantomPinned)>,
        }
    )*};
}

opaque! {
    /// A heap (`acre/heap.h`).
    acre_heap
    /// A tag (`acre/tags.h`).
    acre_tag_handle
    /// C's `FILE`.
    FILE
}
pub type acre_heap_t = acre_heap;
pub type acre_tag_t = acre_tag_handle;

// --- acre/acre.h ---

/// glibc's `struct mallinfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mallinfo {
    pub arena: c_int,
    pub ordblks: c_int,
    pub smblks: c_int,
    pub hblks: c_int,
    pub hblkhd: c_int,
    pub usmblks: c_int,
    pub fsmblks: c_int,
    pub uordblks: c_int,
    pub fordblks: c_int,
    pub keepcost: c_int,
}

/// glibc's `struct mallinfo2`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mallinfo2 {
    pub arena: usize,
    pub ordblks: usize,
    pub smblks: usize,
    pub hblks: usize,
    pub hblkhd: usize,
    pub usmblks: usize,
    pub fsmblks: usize,
    pub uordblks: usize,
    pub fordblks: usize,
    pub keepcost: usize,
}

/// A size class: requests of up to 32 KiB are rounded up to one.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct acre_size_class {
    /// Bytes of a block.
    pub size: usize,
    /// Bytes of a run, which is cut into blocks of this class.
    pub run_bytes: usize,
    /// Blocks a run.
    pub blocks: c_uint,
    /// Every block's address is a multiple of this.
    pub alignment: usize,
    /// The smallest request that is rounded up to this class.
    pub smallest_request: usize,
}

/// An option.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct acre_option {
    pub name: *const c_char,
    /// `bool`, `number`, `bytes`, `choice` or `path`.
    pub type_: *const c_char,
    /// Of a bool or a choice: the names of the values, each with a 0 at its end, then an empty name.
    pub choices: *const c_char,
    pub default_value: c_longlong,
    pub least: c_longlong,
    pub most: c_longlong,
    pub value: c_longlong,
    /// Where the value was set.
    pub source: *const c_char,
    /// 1: mallctl may change it while the program runs.
    pub changeable: c_int,
    pub help: *const c_char,
    /// The value of a path, or "".
    pub text: *const c_char,
}

/// A figure of the statistics.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct acre_stat {
    pub scope: *const c_char,
    pub name: *const c_char,
    pub unit: *const c_char,
    /// 1: it only goes up.
    pub counter: c_int,
    /// The end of its name for mallctl.
    pub ctl_name: *const c_char,
    pub help: *const c_char,
    /// 1: mallctl gives it in pages.
    pub pages: c_int,
}

/// A name that `acre_mallctl` knows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct acre_mallctl_node {
    /// With `#` in place of numbers.
    pub name: *const c_char,
    /// As in C.
    pub type_: *const c_char,
    pub readable: c_int,
    pub writable: c_int,
}

pub type acre_on_soft_limit_fn = unsafe extern "C" fn(held: usize, limit: usize, argument: *mut c_void);
pub type acre_write_fn = unsafe extern "C" fn(opaque: *mut c_void, text: *const c_char);

extern "C" {
    pub fn acre_malloc(size: usize) -> *mut c_void;
    pub fn acre_calloc(count: usize, size: usize) -> *mut c_void;
    pub fn acre_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    pub fn acre_reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void;
    pub fn acre_free(block: *mut c_void);
    pub fn acre_free_sized(block: *mut c_void, size: usize);
    pub fn acre_free_aligned_sized(block: *mut c_void, alignment: usize, size: usize);
    pub fn acre_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    pub fn acre_posix_memalign(block: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
    pub fn acre_memalign(alignment: usize, size: usize) -> *mut c_void;
    pub fn acre_valloc(size: usize) -> *mut c_void;
    pub fn acre_pvalloc(size: usize) -> *mut c_void;
    pub fn acre_cfree(block: *mut c_void);
    /// Bytes that the program may use in a live block. Another pointer ends the program.
    pub fn acre_malloc_usable_size(block: *const c_void) -> usize;
    pub fn acre_malloc_trim(pad: usize) -> c_int;
    pub fn acre_malloc_stats();
    pub fn acre_mallinfo() -> mallinfo;
    pub fn acre_mallinfo2() -> mallinfo2;
    pub fn acre_mallopt(parameter: c_int, value: c_int) -> c_int;
    pub fn acre_malloc_info(options: c_int, stream: *mut FILE) -> c_int;
    pub fn acre_on_soft_limit(callback: Option<acre_on_soft_limit_fn>, argument: *mut c_void);
    pub fn acre_version() -> *const c_char;
    /// 1 if `block` is the start of a live block. Any pointer is allowed.
    pub fn acre_owns(block: *const c_void) -> c_int;
    pub fn acre_size_class_info(index: c_uint, out: *mut acre_size_class) -> c_int;
    pub fn acre_option_info(index: c_uint, out: *mut acre_option) -> c_int;
    pub fn acre_mallctl(
        name: *const c_char,
        oldp: *mut c_void,
        oldlenp: *mut usize,
        newp: *mut c_void,
        newlen: usize,
    ) -> c_int;
    pub fn acre_mallctlnametomib(name: *const c_char, mibp: *mut usize, miblenp: *mut usize) -> c_int;
    pub fn acre_mallctlbymib(
        mib: *const usize,
        miblen: usize,
        oldp: *mut c_void,
        oldlenp: *mut usize,
        newp: *mut c_void,
        newlen: usize,
    ) -> c_int;
    pub fn acre_mallocx(size: usize, flags: c_int) -> *mut c_void;
    pub fn acre_rallocx(block: *mut c_void, size: usize, flags: c_int) -> *mut c_void;
    pub fn acre_xallocx(block: *mut c_void, size: usize, extra: usize, flags: c_int) -> usize;
    pub fn acre_sallocx(block: *const c_void, flags: c_int) -> usize;
    pub fn acre_dallocx(block: *mut c_void, flags: c_int);
    pub fn acre_sdallocx(block: *mut c_void, size: usize, flags: c_int);
    pub fn acre_nallocx(size: usize, flags: c_int) -> usize;
    pub fn acre_allocm(block: *mut *mut c_void, rsize: *mut usize, size: usize, flags: c_int) -> c_int;
    pub fn acre_rallocm(block: *mut *mut c_void, rsize: *mut usize, size: usize, extra: usize, flags: c_int) -> c_int;
    pub fn acre_sallocm(block: *const c_void, rsize: *mut usize, flags: c_int) -> c_int;
    pub fn acre_dallocm(block: *mut c_void, flags: c_int) -> c_int;
    pub fn acre_nallocm(rsize: *mut usize, size: usize, flags: c_int) -> c_int;
    pub fn acre_get_defrag_hint(block: *mut c_void) -> c_int;
    pub fn acre_malloc_stats_print(write_cb: Option<acre_write_fn>, opaque: *mut c_void, opts: *const c_char);
    pub fn acre_je_mallctl(
        name: *const c_char,
        oldp: *mut c_void,
        oldlenp: *mut usize,
        newp: *mut c_void,
        newlen: usize,
    ) -> c_int;
    pub fn acre_je_mallctlnametomib(name: *const c_char, mibp: *mut usize, miblenp: *mut usize) -> c_int;
    pub fn acre_stats_print(format: *const c_char, write: Option<acre_write_fn>, opaque: *mut c_void) -> c_int;
    pub fn acre_stat_info(index: c_uint, out: *mut acre_stat) -> c_int;
    pub fn acre_mallctl_info(index: c_uint, out: *mut acre_mallctl_node) -> c_int;
}

// --- acre/jemalloc.h: flags of acre_mallocx and its kin, to be joined by | ---

/// In place of an arena's number: all arenas together.
pub const MALLCTL_ARENAS_ALL: usize = 4096;
/// The block, or what is added to it, is zeroed to its end.
pub const MALLOCX_ZERO: c_int = 0x40;
/// For `acre_dallocx` and `acre_sdallocx`: the block goes back to its run at once.
pub const MALLOCX_TCACHE_NONE: c_int = 0x100;

/// The block's address is a multiple of this alignment, a power of two.
pub const fn MALLOCX_ALIGN(alignment: usize) -> c_int {
    alignment.trailing_zeros() as c_int
}

/// The block comes from the arena of this number, or not at all.
pub const fn MALLOCX_ARENA(arena: c_uint) -> c_int {
    ((arena + 1) << 20) as c_int
}

// --- acre/extent_hooks.h ---

/// Functions of the program's from which an arena gets its memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct extent_hooks_s {
    pub alloc: Option<extent_alloc_t>,
    pub dalloc: Option<extent_dalloc_t>,
    pub destroy: Option<extent_destroy_t>,
    pub commit: Option<extent_range_t>,
    pub decommit: Option<extent_range_t>,
    pub purge_lazy: Option<extent_range_t>,
    pub purge_forced: Option<extent_range_t>,
    pub split: Option<extent_split_t>,
    pub merge: Option<extent_merge_t>,
}
pub type extent_hooks_t = extent_hooks_s;

pub type extent_alloc_t = unsafe extern "C" fn(
    hooks: *mut extent_hooks_t,
    new_addr: *mut c_void,
    size: usize,
    alignment: usize,
    zero: *mut bool,
    commit: *mut bool,
    arena_ind: c_uint,
) -> *mut c_void;
pub type extent_dalloc_t = unsafe extern "C" fn(
    hooks: *mut extent_hooks_t,
    addr: *mut c_void,
    size: usize,
    committed: bool,
    arena_ind: c_uint,
) -> bool;
pub type extent_destroy_t = unsafe extern "C" fn(
    hooks: *mut extent_hooks_t,
    addr: *mut c_void,
    size: usize,
    committed: bool,
    arena_ind: c_uint,
);
/// The type of `commit`, `decommit`, `purge_lazy` and `purge_forced`.
pub type extent_range_t = unsafe extern "C" fn(
    hooks: *mut extent_hooks_t,
    addr: *mut c_void,
    size: usize,
    offset: usize,
    length: usize,
    arena_ind: c_uint,
) -> bool;
pub type extent_split_t = unsafe extern "C" fn(
    hooks: *mut extent_hooks_t,
    addr: *mut c_void,
    size: usize,
    size_a: usize,
    size_b: usize,
    committed: bool,
    arena_ind: c_uint,
) -> bool;
pub type extent_merge_t = unsafe extern "C" fn(
    hooks: *mut extent_hooks_t,
    addr_a: *mut c_void,
    size_a: usize,
    addr_b: *mut c_void,
    size_b: usize,
    committed: bool,
    arena_ind: c_uint,
) -> bool;

// --- acre/heap.h ---

// Values of acre_heap_settings.failure.
pub const ACRE_HEAP_REFUSE: c_int = 0;
pub const ACRE_HEAP_FALL_BACK: c_int = 1;
pub const ACRE_HEAP_ABORT: c_int = 2;

// Values in place of a decay time in milliseconds.
pub const ACRE_DECAY_BY_OPTIONS: c_longlong = 0;
pub const ACRE_DECAY_NEVER: c_longlong = -1;
pub const ACRE_DECAY_AT_ONCE: c_longlong = -2;

pub type acre_heap_soft_limit_fn = unsafe extern "C" fn(heap: *mut acre_heap_t, bytes: usize, argument: *mut c_void);

/// Settings of a heap: zero in all fields is right for most heaps.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct acre_heap_settings {
    pub name: *const c_char,
    pub limit: usize,
    pub dirty_decay_ms: c_longlong,
    pub muzzy_decay_ms: c_longlong,
    pub hooks: *mut extent_hooks_t,
    pub file: *const c_char,
    pub device: *const c_char,
    pub start: usize,
    pub source_limit: usize,
    pub is_private: c_int,
    pub failure: c_int,
    pub soft_limit: usize,
    pub on_soft_limit: Option<acre_heap_soft_limit_fn>,
    pub argument: *mut c_void,
}

extern "C" {
    pub fn acre_heap_create(settings: *const acre_heap_settings) -> *mut acre_heap_t;
    pub fn acre_heap_malloc(heap: *mut acre_heap_t, size: usize) -> *mut c_void;
    pub fn acre_heap_calloc(heap: *mut acre_heap_t, count: usize, size: usize) -> *mut c_void;
    pub fn acre_heap_aligned_alloc(heap: *mut acre_heap_t, alignment: usize, size: usize) -> *mut c_void;
    pub fn acre_heap_realloc(heap: *mut acre_heap_t, block: *mut c_void, size: usize) -> *mut c_void;
    pub fn acre_heap_reset(heap: *mut acre_heap_t);
    pub fn acre_heap_destroy(heap: *mut acre_heap_t);
    pub fn acre_heap_bytes(heap: *const acre_heap_t) -> usize;
    pub fn acre_heap_of(block: *const c_void) -> *mut acre_heap_t;
}

// --- acre/tags.h ---

/// The figures of a tag: bytes, except `refused`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct acre_tag_info {
    pub name: [c_char; 64],
    pub live: u64,
    pub allocated: u64,
    pub peak: u64,
    pub limit: u64,
    pub refused: u64,
}

pub type acre_tag_limit_fn = unsafe extern "C" fn(tag: *mut acre_tag_t, wanted: usize, argument: *mut c_void) -> c_int;

extern "C" {
    pub fn acre_tag(name: *const c_char) -> *mut acre_tag_t;
    pub fn acre_tag_push(name: *const c_char) -> c_int;
    pub fn acre_tag_enter(tag: *mut acre_tag_t) -> c_int;
    pub fn acre_tag_pop() -> c_int;
    pub fn acre_tag_in_force() -> *mut acre_tag_t;
    pub fn acre_tag_of(block: *const c_void) -> *mut acre_tag_t;
    pub fn acre_tag_limit(tag: *mut acre_tag_t, bytes: usize);
    pub fn acre_tag_on_limit(tag: *mut acre_tag_t, callback: Option<acre_tag_limit_fn>, argument: *mut c_void);
    pub fn acre_tag_drop(tag: *mut acre_tag_t);
    pub fn acre_tag_get(tag: *const acre_tag_t, info: *mut acre_tag_info) -> c_int;
    pub fn acre_tag_next(tag: *const acre_tag_t) -> *mut acre_tag_t;
}

// --- acre/leaks.h ---

pub const ACRE_LEAKS_OFF: c_int = 0;
pub const ACRE_LEAKS_LOCAL: c_int = 1;
pub const ACRE_LEAKS_AT_EXIT: c_int = 2;

extern "C" {
    pub fn acre_leaks_active() -> c_int;
    pub fn acre_leaks_cancel();
    pub fn acre_leaks_ignore(p: *const c_void) -> c_int;
    pub fn acre_leaks_heed(p: *const c_void) -> c_int;
    pub fn acre_leaks_disable();
    pub fn acre_leaks_enable();
    pub fn acre_leaks_leave_out(start: *const c_void, bytes: usize) -> c_int;
    pub fn acre_leaks_take_in(start: *const c_void) -> c_int;
    pub fn acre_leaks_begin() -> c_uint;
    pub fn acre_leaks_end(section: c_uint, name: *const c_char, bytes: *mut usize) -> c_longlong;
    pub fn acre_leaks_dump(path: *const c_char) -> c_int;
}

// --- acre/trace.h ---

extern "C" {
    /// Writes a text into the recording of this process, if there is one.
    pub fn acre_trace_mark(text: *const c_char);
}

// The linker takes a member of an archive only for a name that it misses, and nothing of Rust's names malloc before the
// C library is at hand.
#[cfg(feature = "override")]
mod takes_over {
    use super::{c_int, c_void};
    extern "C" {
        fn malloc(size: usize) -> *mut c_void;
        fn mallopt(parameter: c_int, value: c_int) -> c_int;
    }
    #[used]
    static MALLOC: unsafe extern "C" fn(usize) -> *mut c_void = malloc;
    #[used]
    static MALLOPT: unsafe extern "C" fn(c_int, c_int) -> c_int = mallopt;
}
