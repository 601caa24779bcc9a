use core::alloc::{GlobalAlloc, Layout};

use crate::sys;

/// The allocator, for `#[global_allocator]`.
///
/// ```
/// #[global_allocator]
/// static A: acre::Acre = acre::Acre;
///
/// let numbers: Vec<u64> = (0..1000).collect();
/// assert!(acre::owns(numbers.as_ptr()));
/// ```
///
/// With the feature `allocator-api2` also an allocator for collections, in a program whose global allocator is another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acre;

/// Whether a block of malloc has this alignment: blocks of up to 8 bytes are multiples of 8, others of 16.
#[inline]
pub(crate) const fn is_plain(size: usize, align: usize) -> bool {
    align <= 8 || (align <= 16 && align <= size)
}

// SAFETY: blocks are as large and as aligned as their layout says, and stay until they are freed. acre never unwinds.
unsafe impl GlobalAlloc for Acre {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = if is_plain(layout.size(), layout.align()) {
            sys::acre_malloc(layout.size())
        } else {
            sys::acre_aligned_alloc(layout.align(), layout.size())
        };
        block.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_plain(layout.size(), layout.align()) {
            sys::acre_free_sized(block.cast(), layout.size());
        } else {
            sys::acre_free_aligned_sized(block.cast(), layout.align(), layout.size());
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let block = if is_plain(layout.size(), layout.align()) {
            sys::acre_calloc(1, layout.size())
        } else {
            sys::acre_mallocx(layout.size(), sys::MALLOCX_ALIGN(layout.align()) | sys::MALLOCX_ZERO)
        };
        block.cast()
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let block = if is_plain(new_size, layout.align()) {
            sys::acre_realloc(block.cast(), new_size)
        } else {
            sys::acre_rallocx(block.cast(), new_size, sys::MALLOCX_ALIGN(layout.align()))
        };
        block.cast()
    }
}

#[cfg(feature = "allocator-api2")]
mod collections {
    use super::Acre;
    use crate::blocks::{self, Place};
    use allocator_api2::alloc::{AllocError, Allocator};
    use core::alloc::{GlobalAlloc, Layout};
    use core::ptr::NonNull;

    impl Place for Acre {
        unsafe fn get(&self, layout: Layout, zeroed: bool) -> *mut u8 {
            if zeroed {
                self.alloc_zeroed(layout)
            } else {
                self.alloc(layout)
            }
        }

        unsafe fn resize(&self, block: *mut u8, new: Layout) -> *mut u8 {
            self.realloc(block, new, new.size())
        }
    }

    blocks::allocator!(Acre, core::convert::identity);
}
