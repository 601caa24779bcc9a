//! Heap profiles: which functions allocated what is in use, was at the peak, and was ever allocated.
//!
//! ```
//! # #[global_allocator] static A: acre::Acre = acre::Acre;
//! # fn main() -> Result<(), acre::Error> {
//! # let path = std::env::temp_dir().join(format!("acre-doc.{}.pb.gz", std::process::id()));
//! acre::profile::start()?;
//! let kept: Vec<Vec<u8>> = (0..100).map(|_| vec![1; 100_000]).collect();
//! acre::profile::write(&path)?; // for `acre heap` or `go tool pprof`
//! acre::profile::stop()?;
//! # assert!(std::fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]));
//! # std::fs::remove_file(&path).unwrap();
//! # Ok(()) }
//! ```
//!
//! Functions have their names where the program has symbols, and lines with `debug = 1` in the profile
//! of Cargo. The option `prof:true` ([`conf!`](crate::conf) or `ACRE_CONF`) samples from the program's start.

use alloc::string::ToString;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::{ctl, Error, ErrorKind};

/// Starts sampling, about once in 512 KiB that are allocated. Other threads first use up blocks that they have at hand:
/// a few KiB a size class.
pub fn start() -> Result<(), Error> {
    ctl::set("prof.active", true)
}

/// Forgets all samples, and samples once in `bytes` from now on, rounded up to a power of two.
pub fn start_with(bytes: usize) -> Result<(), Error> {
    let power = bytes.max(1).checked_next_power_of_two();
    let power =
        power.ok_or_else(|| Error::new("profile::start_with", "bytes", ErrorKind::Invalid, "too many bytes"))?;
    // The profiler has to be on before it can have another rate.
    start()?;
    ctl::set("prof.reset", power.trailing_zeros() as usize)
}

/// Stops sampling. Blocks that were sampled are followed on.
pub fn stop() -> Result<(), Error> {
    ctl::set("prof.active", false)
}

/// Whether blocks are sampled.
pub fn is_active() -> bool {
    ctl::get("prof.active").unwrap_or(false)
}

/// Forgets all samples.
pub fn reset() -> Result<(), Error> {
    match ctl::act("prof.reset") {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()), // there never was one
        result => result,
    }
}

/// Writes a profile. What it holds goes by the end of the path: `.peak.pb.gz` the peak, `.growth.pb.gz` where the heap
/// grew, any other `.pb.gz` what is live, for `acre heap` and pprof; anything else the text for `jeprof`.
pub fn write(path: impl AsRef<Path>) -> Result<(), Error> {
    let path = path.as_ref();
    let shown = path.display().to_string();
    let fail = |kind, why| Error::new("profile::write", shown.as_str(), kind, why);
    let text =
        CString::new(path.as_os_str().as_bytes()).map_err(|_| fail(ErrorKind::Invalid, "the path has a 0 in it"))?;
    ctl::set("prof.dump", text.as_c_str()).map_err(|error| match error.kind() {
        ErrorKind::NotFound => fail(ErrorKind::NotFound, "nothing was ever sampled: call profile::start before"),
        ErrorKind::Other => fail(ErrorKind::File, "the file cannot be written"),
        kind => fail(kind, "no profile was written"),
    })
}
