//! Figures of the process, and all statistics as a text.

use alloc::ffi::CString;
use alloc::string::String;
use core::ffi::{c_char, c_void, CStr};

use crate::{ctl, sys, Error, ErrorKind};

/// The most used figures of the process, in bytes, which fit each other. [`ctl`] has all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// In live blocks: whole blocks of their size class, whole pages of large ones.
    pub allocated: usize,
    /// In the pages of runs in use and of huge blocks.
    pub active: usize,
    /// Of acre's own structures.
    pub metadata: usize,
    /// At most so much is resident.
    pub resident: usize,
    /// All that is mapped.
    pub mapped: usize,
    /// Address space that holds no memory.
    pub retained: usize,
}

/// Takes new figures.
///
/// ```
/// # #[global_allocator] static A: acre::Acre = acre::Acre;
/// # fn main() -> Result<(), acre::Error> {
/// let before = acre::stats::now()?;
/// let block = vec![1_u8; 1 << 20];
/// assert!(acre::stats::now()?.allocated >= before.allocated + block.len());
/// # Ok(()) }
/// ```
pub fn now() -> Result<Stats, Error> {
    ctl::refresh();
    Ok(Stats {
        allocated: ctl::get("stats.allocated")?,
        active: ctl::get("stats.active")?,
        metadata: ctl::get("stats.metadata")?,
        resident: ctl::get("stats.resident")?,
        mapped: ctl::get("stats.mapped")?,
        retained: ctl::get("stats.retained")?,
    })
}

/// The form of a [`text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A few lines.
    Summary,
    /// All figures.
    Text,
    /// All figures.
    Json,
    /// All figures, for Prometheus.
    OpenMetrics,
}

/// All statistics of this moment.
///
/// ```
/// use acre::stats::{text, Format};
/// assert!(text(Format::Json)?.starts_with('{'));
/// # Ok::<(), acre::Error>(())
/// ```
pub fn text(format: Format) -> Result<String, Error> {
    unsafe extern "C" fn add(into: *mut c_void, text: *const c_char) {
        // SAFETY: `into` is the String below, and the text ends with a 0.
        unsafe { (*into.cast::<String>()).push_str(&CStr::from_ptr(text).to_string_lossy()) }
    }
    let name = match format {
        Format::Summary => "summary",
        Format::Text => "text",
        Format::Json => "json",
        Format::OpenMetrics => "openmetrics",
    };
    let mut all = String::new();
    let into: *mut String = &mut all;
    let c_name = CString::new(name).unwrap_or_default();
    // SAFETY: `add` is called only during the call, with `into`.
    match unsafe { sys::acre_stats_print(c_name.as_ptr(), Some(add), into.cast()) } {
        0 => Ok(all),
        _ => Err(Error::new("stats::text", name, ErrorKind::OutOfMemory, "memory was refused")),
    }
}
