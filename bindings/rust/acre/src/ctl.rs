//! Values by name: statistics, options, arenas, threads. acre's page docs/ctl.md lists the names, as [`names`]
//! does.
//!
//! ```
//! # #[global_allocator] static A: acre::Acre = acre::Acre;
//! # fn main() -> Result<(), acre::Error> {
//! use acre::ctl;
//!
//! let decay: isize = ctl::get("arena.0.dirty_decay_ms")?;
//! ctl::set("arena.0.dirty_decay_ms", 1000_isize)?;
//! ctl::act("thread.tcache.flush")?;
//! # assert_ne!(decay, 1000);
//!
//! let error = ctl::get::<usize>("stats.alocated").unwrap_err();
//! assert_eq!(error.kind(), acre::ErrorKind::NotFound);
//! # Ok(()) }
//! ```
//!
//! A value has to have the type of its name. Where a name has a C type without a safe meaning in Rust (pointers,
//! functions), or frees blocks that may be live (`arena.#.reset`), these functions refuse, and
//! [`sys::acre_mallctl`] is there.

use alloc::ffi::CString;
use alloc::format;
use alloc::string::String;
use core::ffi::{c_char, c_int, c_uint, c_void, CStr};
use core::fmt::{self, Write};
use core::marker::PhantomData;
use core::mem::size_of;
use core::ptr;

use crate::error::{EAGAIN, EINVAL, ENOENT, EPERM};
use crate::{sys, Error, ErrorKind};

/// A name that acre knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Name {
    /// With `#` in place of numbers.
    pub pattern: &'static str,
    /// As in C; `void`: an action.
    pub c_type: &'static str,
    /// Whether [`get`] reads it.
    pub is_readable: bool,
    /// Whether [`set`] changes it. A name that is neither readable nor writable stands for an action, which may take or
    /// give a value.
    pub is_writable: bool,
}

/// All names, in no special order.
///
/// ```
/// assert!(acre::ctl::names().any(|name| name.pattern == "stats.allocated" && name.c_type == "size_t"));
/// ```
pub fn names() -> impl Iterator<Item = Name> {
    (0..).map_while(|index: c_uint| {
        let mut node = sys::acre_mallctl_node { name: ptr::null(), type_: ptr::null(), readable: 0, writable: 0 };
        // SAFETY: fills the node, whose texts are constants.
        unsafe {
            (sys::acre_mallctl_info(index, &mut node) == 0).then(|| Name {
                pattern: text(node.name),
                c_type: text(node.type_),
                is_readable: node.readable != 0,
                is_writable: node.writable != 0,
            })
        }
    })
}

unsafe fn text(constant: *const c_char) -> &'static str {
    CStr::from_ptr(constant).to_str().unwrap_or("")
}

fn fits(name: &str, pattern: &str) -> bool {
    let mut parts = name.split('.');
    pattern.split('.').all(|of_pattern| match parts.next() {
        Some(part) if of_pattern == "#" => !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()),
        Some(part) => part == of_pattern,
        None => false,
    }) && parts.next().is_none()
}

/// Frees blocks that the program may have, or gives a text that another thread may free.
const UNSAFE: [&str; 3] = ["arena.#.reset", "arena.#.destroy", "stats.tags.#.name"];

const NO_NAME: &str = "there is no such name; acre::ctl::names() has all";

fn find(
    call: &'static str,
    name: &str,
    types: &[&str],
    wanted: &str,
    allowed: fn(&Name) -> bool,
) -> Result<Name, Error> {
    let found = names().find(|known| fits(name, known.pattern));
    let found = found.ok_or_else(|| Error::new(call, name, ErrorKind::NotFound, NO_NAME))?;
    let refuse = |why: String| Err(Error::new(call, name, ErrorKind::NotAllowed, why));
    if UNSAFE.contains(&found.pattern) {
        return refuse("not safe: call acre::sys::acre_mallctl, or for a tag's name acre::Tag::info".into());
    }
    if !types.contains(&found.c_type) {
        return refuse(format!("its C type is {}, which {wanted} is not", found.c_type));
    }
    if !allowed(&found) {
        return refuse("it cannot be read, changed or called in this way".into());
    }
    Ok(found)
}

fn check(call: &'static str, name: &dyn fmt::Display, error: c_int) -> Result<(), Error> {
    let (kind, why) = match error {
        0 => return Ok(()),
        ENOENT => (ErrorKind::NotFound, "there is no such arena, class or tag, or the profiler was never on"),
        EINVAL => (ErrorKind::Invalid, "the value is out of range, or one is missing"),
        EPERM => (ErrorKind::NotAllowed, "it cannot be read or changed"),
        EAGAIN => (ErrorKind::OutOfMemory, "memory or a thread was refused"),
        _ => (ErrorKind::Other, "it failed: a file that cannot be written, or an arena that does not exist"),
    };
    Err(Error::new(call, format!("{name}"), kind, why))
}

fn c_name(call: &'static str, name: &str) -> Result<CString, Error> {
    CString::new(name).map_err(|_| Error::new(call, name, ErrorKind::NotFound, NO_NAME))
}

mod sealed {
    use super::*;

    /// Which C types a type of Rust stands for.
    pub trait Typed {
        const TYPES: &'static [&'static str];
        const NAME: &'static str;
    }

    /// A type whose values are read and written as they are.
    pub trait Plain: Copy + Typed {
        /// What acre writes the value over.
        const ZERO: Self;
    }

    pub trait Readable: Sized + Typed {
        fn read(name: &str, c_name: &CStr) -> Result<Self, Error>;
    }

    pub trait Writable: Typed {
        fn write(&self, name: &str, c_name: &CStr) -> Result<(), Error>;
    }
}
use sealed::{Plain, Readable, Typed, Writable};

/// A type that [`get`] returns: `bool`, `u32`, `u64`, `usize`, `i64`, `isize`, `String`.
pub trait Get: Readable {}
impl<T: Readable> Get for T {}

/// A type that [`set`] takes: `bool`, `u32`, `u64`, `usize`, `i64`, `isize`, `&str`, `&CStr`.
pub trait Set: Writable {}
impl<T: Writable> Set for T {}

/// A type of [`Key`]: `bool`, `u32`, `u64`, `usize`, `i64`, `isize`.
pub trait Value: Plain {}
impl<T: Plain> Value for T {}

macro_rules! plain {
    ($($name:ident $zero:literal: $($types:literal)*;)*) => {$(
        impl Typed for $name {
            const TYPES: &'static [&'static str] = &[$($types),*];
            const NAME: &'static str = stringify!($name);
        }
        impl Plain for $name {
            const ZERO: Self = $zero;
        }
        impl Readable for $name {
            fn read(name: &str, c_name: &CStr) -> Result<Self, Error> {
                read_plain(name, c_name)
            }
        }
        impl Writable for $name {
            fn write(&self, name: &str, c_name: &CStr) -> Result<(), Error> {
                write_plain(name, c_name, self)
            }
        }
    )*};
}

// On the targets of acre size_t and uint64_t are one type.
plain! {
    bool false: "bool";
    u32 0: "unsigned" "uint32_t";
    u64 0: "uint64_t" "size_t";
    usize 0: "size_t" "uint64_t";
    i64 0: "ssize_t";
    isize 0: "ssize_t";
}

impl Typed for String {
    const TYPES: &'static [&'static str] = &["const char *"];
    const NAME: &'static str = "String";
}
impl Readable for String {
    fn read(name: &str, c_name: &CStr) -> Result<Self, Error> {
        let mut found: *const c_char = ptr::null();
        let mut length = size_of::<*const c_char>();
        // SAFETY: the name's value is a pointer to a text that is never freed (UNSAFE has the other one).
        unsafe {
            let to: *mut *const c_char = &mut found;
            check("get", &name, sys::acre_mallctl(c_name.as_ptr(), to.cast(), &mut length, ptr::null_mut(), 0))?;
            Ok(if found.is_null() { String::new() } else { CStr::from_ptr(found).to_string_lossy().into_owned() })
        }
    }
}

impl Typed for &CStr {
    const TYPES: &'static [&'static str] = String::TYPES;
    const NAME: &'static str = "a text";
}
impl Writable for &CStr {
    fn write(&self, name: &str, c_name: &CStr) -> Result<(), Error> {
        write_plain(name, c_name, &self.as_ptr())
    }
}

impl Typed for &str {
    const TYPES: &'static [&'static str] = String::TYPES;
    const NAME: &'static str = "a text";
}
impl Writable for &str {
    fn write(&self, name: &str, c_name: &CStr) -> Result<(), Error> {
        let text =
            CString::new(*self).map_err(|_| Error::new("set", name, ErrorKind::Invalid, "the text has a 0 in it"))?;
        text.as_c_str().write(name, c_name)
    }
}

fn read_plain<T: Plain>(name: &str, c_name: &CStr) -> Result<T, Error> {
    let mut value = T::ZERO;
    let mut length = size_of::<T>();
    let to: *mut T = &mut value;
    // SAFETY: the name's value is a T, or EINVAL comes back.
    let error = unsafe { sys::acre_mallctl(c_name.as_ptr(), to.cast(), &mut length, ptr::null_mut(), 0) };
    check("get", &name, error).map(|()| value)
}

fn write_plain<T: Copy>(name: &str, c_name: &CStr, value: &T) -> Result<(), Error> {
    let from: *const T = value;
    // SAFETY: the name's value is a T, or EINVAL comes back; acre only reads it.
    let error = unsafe {
        sys::acre_mallctl(c_name.as_ptr(), ptr::null_mut(), ptr::null_mut(), from as *mut c_void, size_of::<T>())
    };
    check("set", &name, error)
}

fn is_action(name: &Name) -> bool {
    !name.is_readable && !name.is_writable
}

/// Reads the value of a name, or calls an action that gives one, such as `arenas.create`. Figures (`stats.…`) are those
/// of the last [`refresh`].
pub fn get<T: Get>(name: &str) -> Result<T, Error> {
    find("get", name, T::TYPES, T::NAME, |known| known.is_readable || is_action(known))?;
    T::read(name, &c_name("get", name)?)
}

/// Changes the value of a name, or calls an action that takes one, such as `prof.dump`.
pub fn set<T: Set>(name: &str, value: T) -> Result<(), Error> {
    find("set", name, T::TYPES, T::NAME, |known| known.is_writable || is_action(known))?;
    value.write(name, &c_name("set", name)?)
}

/// Calls an action without a value, such as `arena.0.purge`, `thread.idle` or `prof.dump`.
pub fn act(name: &str) -> Result<(), Error> {
    const TYPES: [&str; 3] = ["void", "const char *", "size_t"];
    find("act", name, &TYPES, "an action", |known| !known.is_readable)?;
    // SAFETY: an action without a value; what frees blocks is refused.
    let error = unsafe {
        sys::acre_mallctl(c_name("act", name)?.as_ptr(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), 0)
    };
    check("act", &name, error)
}

/// Takes new figures, and returns how often that was done so far. If it would take long, the figures stay.
pub fn refresh() -> u64 {
    // "epoch" can always be written and read.
    let _ = set("epoch", 1_u64);
    get("epoch").unwrap_or(0)
}

/// The most parts of a name.
const MOST: usize = 8;

/// A name that was looked up once, to be read or changed often.
///
/// ```
/// # #[global_allocator] static A: acre::Acre = acre::Acre;
/// # fn main() -> Result<(), acre::Error> {
/// use acre::ctl::Key;
///
/// let size: Key<usize> = Key::new("arenas.bin.0.size")?;
/// let sizes: Vec<usize> = (0..).map_while(|bin| size.at(&[bin]).get().ok()).collect();
/// assert_eq!((sizes[0], *sizes.last().unwrap()), (8, 32768));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
pub struct Key<T> {
    pattern: &'static str,
    mib: [usize; MOST],
    length: usize,
    is_value: PhantomData<T>,
}

impl<T: Value> Key<T> {
    /// Looks a name up, which has to have a value of this type.
    pub fn new(name: &str) -> Result<Self, Error> {
        let found = find("Key::new", name, T::TYPES, T::NAME, |known| !is_action(known))?;
        let mut key = Key { pattern: found.pattern, mib: [0; MOST], length: MOST, is_value: PhantomData };
        let c_name = c_name("Key::new", name)?;
        // SAFETY: writes at most `length` numbers.
        let error = unsafe { sys::acre_mallctlnametomib(c_name.as_ptr(), key.mib.as_mut_ptr(), &mut key.length) };
        check("Key::new", &name, error)?;
        Ok(key)
    }

    /// The same name with these numbers in place of its first ones.
    pub fn at(mut self, numbers: &[usize]) -> Self {
        let mut numbers = numbers.iter();
        for (part, place) in self.pattern.split('.').zip(&mut self.mib) {
            if part == "#" {
                if let Some(number) = numbers.next() {
                    *place = *number;
                }
            }
        }
        self
    }

    /// Reads the value.
    pub fn get(&self) -> Result<T, Error> {
        let mut value = T::ZERO;
        let mut length = size_of::<T>();
        let to: *mut T = &mut value;
        // SAFETY: the name's value is a T.
        let error = unsafe {
            sys::acre_mallctlbymib(self.mib.as_ptr(), self.length, to.cast(), &mut length, ptr::null_mut(), 0)
        };
        check("Key::get", self, error).map(|()| value)
    }

    /// Changes the value.
    pub fn set(&self, value: T) -> Result<(), Error> {
        let from: *const T = &value;
        // SAFETY: the name's value is a T, which acre only reads.
        let error = unsafe {
            let from = from as *mut c_void;
            sys::acre_mallctlbymib(
                self.mib.as_ptr(),
                self.length,
                ptr::null_mut(),
                ptr::null_mut(),
                from,
                size_of::<T>(),
            )
        };
        check("Key::set", self, error)
    }
}

/// The name with its numbers.
impl<T> fmt::Display for Key<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (part, number)) in self.pattern.split('.').zip(&self.mib).enumerate() {
            if index > 0 {
                to.write_char('.')?;
            }
            if part == "#" {
                write!(to, "{number}")?;
            } else {
                to.write_str(part)?;
            }
        }
        Ok(())
    }
}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Key({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn numbers_stand_for_a_number_sign() {
        assert!(fits("arena.0.purge", "arena.#.purge"));
        assert!(fits("stats.arenas.12.bins.3.curregs", "stats.arenas.#.bins.#.curregs"));
        for wrong in
            ["arena..purge", "arena.x.purge", "arena.0", "arena.0.purge.more", "arena.-1.purge", "", "arena.#.purge"]
        {
            assert!(!fits(wrong, "arena.#.purge"), "{wrong}");
        }
    }
}
