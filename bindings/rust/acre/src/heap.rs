use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ffi::{c_longlong, c_void};
use core::fmt;
use core::ops::Deref;
use core::ptr::{self, NonNull};

use crate::{sys, Error, ErrorKind};

/// A heap: blocks that lie together, keep to a limit, and are all freed at once when it is dropped.
///
/// With the feature `allocator-api2`, `&Heap` is an allocator for collections that live no longer than the heap, in any
/// thread. [`SharedHeap`] is one for collections that keep the heap alive.
#[cfg_attr(feature = "allocator-api2", doc = "```")]
#[cfg_attr(not(feature = "allocator-api2"), doc = "```ignore")]
/// use allocator_api2::{boxed::Box, vec::Vec};
///
/// # fn main() -> Result<(), acre::Error> {
/// let mut heap = acre::Heap::builder().name("request").limit(1 << 20).build()?;
/// {
///     let mut numbers = Vec::new_in(&heap);
///     numbers.extend(0..1000);
///     let text = Box::new_in("text", &heap);
///     assert!(heap.bytes() >= 8000 && heap.contains(numbers.as_slice()) && heap.contains(&*text));
///     assert!(Vec::<u8, _>::new_in(&heap).try_reserve(2 << 20).is_err());
/// }
/// heap.reset(); // frees all blocks: no collection may borrow the heap any more
/// # Ok(()) }
/// ```
///
/// No collection outlives its heap:
#[cfg_attr(feature = "allocator-api2", doc = "```compile_fail,E0505")]
#[cfg_attr(not(feature = "allocator-api2"), doc = "```ignore")]
/// let heap = acre::Heap::new().unwrap();
/// let mut numbers = allocator_api2::vec::Vec::new_in(&heap);
/// drop(heap); // error: `heap` is borrowed
/// numbers.push(1);
/// ```
///
/// A heap is cheap enough for each request of a server. No destructor runs for what lies in it: collections drop their
/// elements as ever.
pub struct Heap {
    heap: NonNull<sys::acre_heap_t>,
    // Called by the heap, so freed after it.
    _on_soft_limit: Option<Callback>,
}

// SAFETY: acre's functions for heaps may be called from any thread, and from several at the same time. What must not be
// at the same time as others, reset and destroy, takes the heap by &mut or by value. The callback is Send and Sync.
unsafe impl Send for Heap {}
unsafe impl Sync for Heap {}

type SoftLimit = dyn Fn(usize) + Send + Sync;

/// A pointer of one word to the function, which C hands on.
struct Callback(NonNull<Box<SoftLimit>>);

impl Callback {
    fn new(function: Box<SoftLimit>) -> Self {
        Callback(NonNull::from(Box::leak(Box::new(function))))
    }

    unsafe extern "C" fn call(_: *mut sys::acre_heap_t, bytes: usize, argument: *mut c_void) {
        // SAFETY: the heap is in use, so it has not freed its callback.
        unsafe { (*argument.cast::<Box<SoftLimit>>())(bytes) }
    }
}

impl Drop for Callback {
    fn drop(&mut self) {
        // SAFETY: from Box::leak, and nobody calls it any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Heap {
    /// A heap without a limit, from where the program's memory comes.
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// Settings for a heap.
    pub fn builder() -> HeapBuilder {
        HeapBuilder::default()
    }

    /// Frees all blocks. No destructor of what lies in them runs.
    pub fn reset(&mut self) {
        // SAFETY: whatever uses a block of the heap borrows the heap, and nothing does.
        unsafe { sys::acre_heap_reset(self.heap.as_ptr()) }
    }

    /// Bytes in the pages of the heap's blocks, free blocks between them included. The limit bounds this figure.
    pub fn bytes(&self) -> usize {
        // SAFETY: the heap lives.
        unsafe { sys::acre_heap_bytes(self.heap.as_ptr()) }
    }

    /// Whether `value` lies at the start of a block of this heap.
    pub fn contains<T: ?Sized>(&self, value: &T) -> bool {
        crate::usable_size(value).is_some() && {
            // SAFETY: the value is borrowed and lies at the start of a live block, so the block stays.
            let heap = unsafe { sys::acre_heap_of((value as *const T).cast()) };
            heap == self.heap.as_ptr()
        }
    }

    /// The heap for functions of [`sys`](crate::sys).
    pub fn as_ptr(&self) -> *mut sys::acre_heap_t {
        self.heap.as_ptr()
    }

    /// Owns a heap that [`sys`](crate::sys) has created, for example over a device.
    ///
    /// # Safety
    ///
    /// Nobody else resets or destroys the heap, and its memory is the program's alone.
    pub unsafe fn from_raw(heap: NonNull<sys::acre_heap_t>) -> Self {
        Heap { heap, _on_soft_limit: None }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: as for reset; the heap is not used afterwards.
        unsafe { sys::acre_heap_destroy(self.heap.as_ptr()) }
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Heap").field("bytes", &self.bytes()).finish_non_exhaustive()
    }
}

/// What a heap with a file does when the file gives no memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failure {
    /// The allocation fails.
    #[default]
    Refuse,
    /// The heap gets other memory.
    FallBack,
    /// The program ends.
    Abort,
}

/// When unused pages of a heap go back to the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decay {
    /// As the options say.
    #[default]
    ByOptions,
    /// Not before the heap is dropped.
    Never,
    /// At once.
    AtOnce,
    /// Over so many milliseconds.
    Milliseconds(u32),
}

impl Decay {
    fn setting(self) -> c_longlong {
        match self {
            Decay::ByOptions => sys::ACRE_DECAY_BY_OPTIONS,
            Decay::Never => sys::ACRE_DECAY_NEVER,
            Decay::AtOnce | Decay::Milliseconds(0) => sys::ACRE_DECAY_AT_ONCE,
            Decay::Milliseconds(time) => time.into(),
        }
    }
}

/// Settings for a [`Heap`].
#[derive(Default)]
#[must_use]
pub struct HeapBuilder {
    name: String,
    limit: usize,
    dirty: Decay,
    muzzy: Decay,
    folder: Option<Vec<u8>>,
    source_limit: usize,
    failure: Failure,
    soft_limit: usize,
    on_soft_limit: Option<Box<SoftLimit>>,
}

impl HeapBuilder {
    /// A name, of which 31 bytes are kept.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// The most bytes, in whole pages, that its blocks may take. Beyond them allocations fail.
    pub fn limit(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// When unused dirty and muzzy pages go back.
    pub fn decay(mut self, dirty: Decay, muzzy: Decay) -> Self {
        self.dirty = dirty;
        self.muzzy = muzzy;
        self
    }

    /// Memory comes from a file without a name in this folder, of at most `bytes` (0: no limit).
    #[cfg(feature = "std")]
    pub fn file_in(mut self, folder: impl AsRef<std::path::Path>, bytes: usize, failure: Failure) -> Self {
        use std::os::unix::ffi::OsStrExt;
        // With the dot it is no file's name: others might write to a file that has one.
        self.folder = Some(folder.as_ref().join(".").as_os_str().as_bytes().to_vec());
        self.source_limit = bytes;
        self.failure = failure;
        self
    }

    /// An allocation that makes the heap hold more than `bytes` returns unused pages to the system at once. If the pages
    /// of its blocks alone are more, `callback` is called with their bytes, by one allocating thread at a time. It may
    /// free and allocate, in this heap too. A panic in it ends the program.
    pub fn soft_limit(mut self, bytes: usize, callback: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.soft_limit = bytes;
        self.on_soft_limit = Some(Box::new(callback));
        self
    }

    /// Creates the heap.
    pub fn build(self) -> Result<Heap, Error> {
        let text = |bytes: Vec<u8>| {
            CString::new(bytes).map_err(|_| {
                Error::new(
                    "HeapBuilder::build",
                    self.name.as_str(),
                    ErrorKind::Invalid,
                    "the name or path has a 0 in it",
                )
            })
        };
        let name = text(self.name.clone().into_bytes())?;
        let folder = self.folder.map(text).transpose()?;
        let on_soft_limit = self.on_soft_limit.map(Callback::new);
        let settings = sys::acre_heap_settings {
            name: name.as_ptr(),
            limit: self.limit,
            dirty_decay_ms: self.dirty.setting(),
            muzzy_decay_ms: self.muzzy.setting(),
            hooks: ptr::null_mut(),
            file: folder.as_ref().map_or(ptr::null(), |folder| folder.as_ptr()),
            device: ptr::null(),
            start: 0,
            source_limit: self.source_limit,
            is_private: 0,
            failure: match self.failure {
                Failure::Refuse => sys::ACRE_HEAP_REFUSE,
                Failure::FallBack => sys::ACRE_HEAP_FALL_BACK,
                Failure::Abort => sys::ACRE_HEAP_ABORT,
            },
            soft_limit: self.soft_limit,
            on_soft_limit: on_soft_limit.is_some().then_some(Callback::call),
            argument: on_soft_limit.as_ref().map_or(ptr::null_mut(), |callback| callback.0.as_ptr().cast()),
        };
        // SAFETY: acre copies the texts, and the callback lives as long as the heap.
        match NonNull::new(unsafe { sys::acre_heap_create(&settings) }) {
            Some(heap) => Ok(Heap { heap, _on_soft_limit: on_soft_limit }),
            None => Err(match &folder {
                Some(folder) => Error::new(
                    "HeapBuilder::build",
                    self.name,
                    ErrorKind::File,
                    format!("no file can be made in {}", folder.to_string_lossy().trim_end_matches("/.")),
                ),
                None => Error::new("HeapBuilder::build", self.name, ErrorKind::OutOfMemory, "memory was refused"),
            }),
        }
    }
}

/// A [`Heap`] that lives as long as its last handle. With the feature `allocator-api2` it is an allocator for
/// collections that keep the heap alive, and so may go anywhere.
#[cfg_attr(feature = "allocator-api2", doc = "```")]
#[cfg_attr(not(feature = "allocator-api2"), doc = "```ignore")]
/// use allocator_api2::vec::Vec;
/// use acre::{Heap, SharedHeap};
///
/// # fn main() -> Result<(), acre::Error> {
/// let heap = SharedHeap::new(Heap::new()?);
/// let mut numbers = Vec::new_in(heap.clone());
/// drop(heap);
/// let sum = std::thread::spawn(move || {
///     numbers.extend(0..100);
///     numbers.iter().sum::<u32>()
/// });
/// assert_eq!(sum.join().unwrap(), 4950);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct SharedHeap(Arc<Heap>);

impl SharedHeap {
    /// Shares a heap.
    pub fn new(heap: Heap) -> Self {
        SharedHeap(Arc::new(heap))
    }
}

impl From<Heap> for SharedHeap {
    fn from(heap: Heap) -> Self {
        Self::new(heap)
    }
}

impl Deref for SharedHeap {
    type Target = Heap;
    fn deref(&self) -> &Heap {
        &self.0
    }
}
