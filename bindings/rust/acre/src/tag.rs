use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::string::String;
use core::ffi::{c_int, c_void, CStr};
use core::fmt;
use core::future::Future;
use core::marker::PhantomData;
use core::pin::Pin;
use core::ptr::{self, NonNull};
use core::task::{Context, Poll};

use crate::error::{EAGAIN, EINVAL, ENOMEM, ENOTSUP};
use crate::{sys, Error, ErrorKind};

/// A tag: how much a request, a tenant or a part of the program has allocated, and may allocate.
///
/// Blocks of the global allocator count for the tag in force in the thread that allocates them, until any thread frees
/// them. Figures are exact.
///
/// ```
/// # #[global_allocator] static A: acre::Acre = acre::Acre;
/// # fn main() -> Result<(), acre::Error> {
/// let tag = acre::Tag::new("request 17")?;
/// let kept = {
///     let _scope = tag.enter()?;
///     vec![1_u8; 100_000]
/// };
/// assert!(tag.info()?.live >= 100_000);
/// drop(kept);
/// assert_eq!(tag.info()?.live, 0);
/// # Ok(()) }
/// ```
///
/// A handle is as cheap to copy as a pointer. The tag stays until it is [retired](Tag::retire).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(NonNull<sys::acre_tag_t>);

// SAFETY: acre's functions for tags may be called from any thread. The memory of a tag is never given back: a handle of
// a tag that is gone leads to no tag, or to a later one.
unsafe impl Send for Tag {}
unsafe impl Sync for Tag {}

/// The figures of a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TagInfo {
    /// The tag's name.
    pub name: String,
    /// Bytes of blocks that were not freed.
    pub live: u64,
    /// Bytes of all blocks so far.
    pub allocated: u64,
    /// The most bytes that were live.
    pub peak: u64,
    /// The most bytes that may be live.
    pub limit: Option<u64>,
    /// The number of allocations that were refused for the limit.
    pub refused: u64,
}

impl Tag {
    /// The tag of this name, of 1 to 63 bytes, which is made if there is none.
    pub fn new(name: &str) -> Result<Self, Error> {
        let fail = |kind, why| Err(Error::new("Tag::new", name, kind, why));
        match CString::new(name) {
            Ok(c_name) if (1..=63).contains(&name.len()) => {
                // SAFETY: the name ends with a 0.
                match NonNull::new(unsafe { sys::acre_tag(c_name.as_ptr()) }) {
                    Some(tag) => Ok(Tag(tag)),
                    None => fail(ErrorKind::OutOfMemory, "memory was refused, or there are 262144 tags"),
                }
            }
            _ => fail(ErrorKind::Invalid, "a name has 1 to 63 bytes, and no 0 among them"),
        }
    }

    /// Puts the tag in force in this thread for the life of the scope.
    pub fn enter(&self) -> Result<Scope, Error> {
        Scope::new(self.0.as_ptr())
    }

    /// No tag is in force in this thread for the life of the scope: for a cache that others share, say.
    pub fn suspend() -> Result<Scope, Error> {
        Scope::new(ptr::null_mut())
    }

    /// The future, with the tag in force whenever it is polled, by whichever thread. Where the tag cannot be put in
    /// force, the future is polled without it.
    ///
    /// ```
    /// # #[global_allocator] static A: acre::Acre = acre::Acre;
    /// # fn main() -> Result<(), acre::Error> {
    /// let tag = acre::Tag::new("task")?;
    /// let task = tag.wrap(async { vec![0_u8; 5000].len() });
    /// # use std::{future::Future, pin::pin, sync::Arc, task::{Context, Poll, Wake}};
    /// # struct Nothing; impl Wake for Nothing { fn wake(self: Arc<Self>) {} }
    /// # assert_eq!(pin!(task).poll(&mut Context::from_waker(&Arc::new(Nothing).into())), Poll::Ready(5000));
    /// # assert!(tag.info()?.allocated >= 5000);
    /// # Ok(()) }
    /// ```
    pub fn wrap<F: Future>(&self, future: F) -> Tagged<F> {
        Tagged { tag: *self, future }
    }

    /// The tag in force in this thread.
    pub fn in_force() -> Option<Self> {
        // SAFETY: has no preconditions.
        NonNull::new(unsafe { sys::acre_tag_in_force() }).map(Tag)
    }

    /// The tag for which the block counts that begins with `value`.
    pub fn of<T: ?Sized>(value: &T) -> Option<Self> {
        crate::usable_size(value)?;
        // SAFETY: the value is borrowed and lies at the start of a live block, so the block stays.
        NonNull::new(unsafe { sys::acre_tag_of((value as *const T).cast()) }).map(Tag)
    }

    /// All tags, in no special order.
    pub fn all() -> impl Iterator<Item = Self> {
        // SAFETY: `last` is null or a tag.
        let next = |last: *const _| NonNull::new(unsafe { sys::acre_tag_next(last) });
        core::iter::successors(next(ptr::null()), move |last| next(last.as_ptr())).map(Tag)
    }

    /// The figures.
    pub fn info(&self) -> Result<TagInfo, Error> {
        let mut info = sys::acre_tag_info { name: [0; 64], live: 0, allocated: 0, peak: 0, limit: 0, refused: 0 };
        // SAFETY: fills `info`.
        if unsafe { sys::acre_tag_get(self.0.as_ptr(), &mut info) } != 0 {
            return Err(Error::new("Tag::info", "", ErrorKind::NotFound, "the tag was retired, and is gone"));
        }
        // SAFETY: acre ends the name with a 0.
        let name = unsafe { CStr::from_ptr(info.name.as_ptr()) }.to_string_lossy().into_owned();
        let limit = (info.limit != u64::MAX).then_some(info.limit);
        Ok(TagInfo { name, live: info.live, allocated: info.allocated, peak: info.peak, limit, refused: info.refused })
    }

    /// Sets the most bytes that may be live. An allocation that would pass the limit fails: `try_reserve` returns an
    /// error, and most other allocations of Rust end the program.
    ///
    /// ```
    /// # #[global_allocator] static A: acre::Acre = acre::Acre;
    /// # fn main() -> Result<(), acre::Error> {
    /// let tenant = acre::Tag::new("tenant 3")?;
    /// tenant.limit(Some(1 << 20));
    /// let _scope = tenant.enter()?;
    /// assert!(Vec::<u8>::new().try_reserve(2 << 20).is_err());
    /// assert_eq!(tenant.info()?.refused, 1);
    /// # Ok(()) }
    /// ```
    pub fn limit(&self, bytes: Option<usize>) {
        // SAFETY: a tag.
        unsafe { sys::acre_tag_limit(self.0.as_ptr(), bytes.unwrap_or(usize::MAX)) }
    }

    /// Sets the function that is called with the bytes of a block before its allocation fails at the limit. Returns it
    /// true, the allocation is tried again. The function may free blocks, raise the limit, or allocate; what it
    /// allocates for the tag is refused at the limit without a call. A panic in it ends the program. A later call
    /// replaces the function; the old one is never freed, since another thread may be in it.
    pub fn on_limit<F: Fn(Tag, usize) -> bool + Send + Sync + 'static>(&self, callback: F) {
        unsafe extern "C" fn call<F: Fn(Tag, usize) -> bool>(
            tag: *mut sys::acre_tag_t,
            wanted: usize,
            argument: *mut c_void,
        ) -> c_int {
            // SAFETY: `argument` is the leaked F, and acre passes the tag.
            unsafe { (*argument.cast::<F>())(Tag(NonNull::new_unchecked(tag)), wanted).into() }
        }
        let argument: *mut F = Box::leak(Box::new(callback));
        // SAFETY: the function and its argument live for ever, and may be called by any thread.
        unsafe { sys::acre_tag_on_limit(self.0.as_ptr(), Some(call::<F>), argument.cast()) }
    }

    /// Gives the tag up: its name is free at once, and the tag with its figures goes as soon as no block counts for it
    /// and it is in force nowhere. A handle that is used after that counts for no tag, or for a later one.
    pub fn retire(self) {
        // SAFETY: a tag, or the place of one.
        unsafe { sys::acre_tag_drop(self.0.as_ptr()) }
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_tuple("Tag").field(&self.info().map_or(String::new(), |info| info.name)).finish()
    }
}

/// A tag is in force in this thread as long as the scope lives. Scopes may be nested, up to 64 deep, and end in the
/// reverse order. A scope stays in its thread, and so may not be held over an `await` of a task that moves to others:
/// there is [`Tag::wrap`].
///
/// ```compile_fail,E0277
/// let scope = acre::Tag::new("here").unwrap().enter();
/// std::thread::spawn(move || drop(scope)); // error: cannot be sent between threads
/// ```
#[must_use = "the tag is in force as long as the scope lives"]
#[derive(Debug)]
pub struct Scope {
    is_of_this_thread: PhantomData<*const ()>,
}

impl Scope {
    fn new(tag: *mut sys::acre_tag_t) -> Result<Self, Error> {
        // SAFETY: null, a tag, or the place of one.
        let error = unsafe { sys::acre_tag_enter(tag) };
        // A call that fails needs its pop, too.
        let scope = Scope { is_of_this_thread: PhantomData };
        let (kind, why) = match error {
            0 => return Ok(scope),
            EAGAIN => (ErrorKind::TooDeep, "64 scopes are open in this thread"),
            ENOMEM => (ErrorKind::OutOfMemory, "memory was refused"),
            ENOTSUP => (ErrorKind::Unsupported, "the thread ends, or the options junk or zero are set"),
            EINVAL => (ErrorKind::NotFound, "the tag was retired, and is gone"),
            _ => (ErrorKind::Other, "the tag cannot be put in force"),
        };
        drop(scope);
        let name = NonNull::new(tag).and_then(|tag| Tag(tag).info().ok()).map_or(String::new(), |info| info.name);
        Err(Error::new("Tag::enter", name, kind, why))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        // SAFETY: has no preconditions.
        unsafe { sys::acre_tag_pop() };
    }
}

/// A future with a tag: [`Tag::wrap`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Tagged<F> {
    tag: Tag,
    future: F,
}

impl<F: Future> Future for Tagged<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future is not moved out of the pinned struct, which is Unpin only if the future is.
        let (tag, future) = unsafe {
            let this = self.get_unchecked_mut();
            (this.tag, Pin::new_unchecked(&mut this.future))
        };
        let _scope = tag.enter();
        future.poll(context)
    }
}
