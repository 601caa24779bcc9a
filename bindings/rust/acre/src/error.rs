use alloc::string::String;
use core::ffi::c_int;
use core::fmt;

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such name, arena, class or tag.
    NotFound,
    /// The name has another type, or cannot be read, written or called so.
    NotAllowed,
    /// The value or the name is out of its range.
    Invalid,
    /// Memory or a thread was refused.
    OutOfMemory,
    /// Scopes are nested too deep.
    TooDeep,
    /// Not in this thread at this moment, or not with these options.
    Unsupported,
    /// The file or device cannot be used.
    File,
    /// Another failure.
    Other,
}

/// A failure: which call, on what, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    call: &'static str,
    what: String,
    kind: ErrorKind,
    why: String,
}

pub(crate) const EAGAIN: c_int = 11;
pub(crate) const ENOMEM: c_int = 12;
pub(crate) const ENOENT: c_int = 2;
pub(crate) const EPERM: c_int = 1;
pub(crate) const EINVAL: c_int = 22;
pub(crate) const ENOTSUP: c_int = 95;

impl Error {
    pub(crate) fn new(call: &'static str, what: impl Into<String>, kind: ErrorKind, why: impl Into<String>) -> Self {
        Error { call, what: what.into(), kind, why: why.into() }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What the call was about: a name of ctl, a tag, a heap, a path.
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} {:?}: {}", self.call, self.what, self.why)
    }
}

#[cfg(feature = "std")]
impl std::error::Error for Error {}

#[cfg(feature = "std")]
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind {
            ErrorKind::NotFound => Io::NotFound,
            ErrorKind::NotAllowed => Io::PermissionDenied,
            ErrorKind::Invalid => Io::InvalidInput,
            ErrorKind::OutOfMemory => Io::OutOfMemory,
            _ => Io::Other,
        };
        std::io::Error::new(kind, error)
    }
}
