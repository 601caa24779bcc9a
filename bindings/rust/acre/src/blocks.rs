//! Collections' allocators over acre's functions.

use crate::global::{is_plain, Acre};
use crate::{sys, Heap, SharedHeap};
use allocator_api2::alloc::{AllocError, Allocator};
use core::alloc::{GlobalAlloc, Layout};
use core::ops::Deref;
use core::ptr::{self, NonNull};

/// Where blocks come from. No size is 0, and null is a refusal.
pub(crate) trait Place {
    unsafe fn get(&self, layout: Layout, zeroed: bool) -> *mut u8;
    /// A block of the new layout, with what the old one had. If it is refused, the old one stays.
    unsafe fn resize(&self, block: *mut u8, new: Layout) -> *mut u8;
}

impl Place for Heap {
    unsafe fn get(&self, layout: Layout, zeroed: bool) -> *mut u8 {
        let heap = self.as_ptr();
        if !is_plain(layout.size(), layout.align()) {
            let block = sys::acre_heap_aligned_alloc(heap, layout.align(), layout.size()).cast::<u8>();
            if zeroed && !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        } else if zeroed {
            sys::acre_heap_calloc(heap, 1, layout.size()).cast()
        } else {
            sys::acre_heap_malloc(heap, layout.size()).cast()
        }
    }

    unsafe fn resize(&self, block: *mut u8, new: Layout) -> *mut u8 {
        if !is_plain(new.size(), new.align()) {
            // A block that moves stays in its heap.
            sys::acre_rallocx(block.cast(), new.size(), sys::MALLOCX_ALIGN(new.align())).cast()
        } else {
            sys::acre_heap_realloc(self.as_ptr(), block.cast(), new.size()).cast()
        }
    }
}

fn block(start: *mut u8, size: usize) -> Result<NonNull<[u8]>, AllocError> {
    NonNull::new(ptr::slice_from_raw_parts_mut(start, size)).ok_or(AllocError)
}

/// No block has size 0.
fn nothing(layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
    block(layout.align() as *mut u8, 0)
}

pub(crate) fn allocate(place: &impl Place, layout: Layout, zeroed: bool) -> Result<NonNull<[u8]>, AllocError> {
    if layout.size() == 0 {
        return nothing(layout);
    }
    // SAFETY: the size is not 0.
    block(unsafe { place.get(layout, zeroed) }, layout.size())
}

pub(crate) unsafe fn deallocate(start: NonNull<u8>, layout: Layout) {
    if layout.size() != 0 {
        Acre.dealloc(start.as_ptr(), layout);
    }
}

pub(crate) unsafe fn resize(
    place: &impl Place,
    start: NonNull<u8>,
    old: Layout,
    new: Layout,
) -> Result<NonNull<[u8]>, AllocError> {
    if old.size() == 0 {
        return allocate(place, new, false);
    }
    if new.size() == 0 {
        deallocate(start, old);
        return nothing(new);
    }
    block(place.resize(start.as_ptr(), new), new.size())
}

macro_rules! allocator {
    ($name:ty, $place:expr) => {
        // SAFETY: blocks stay where they are until they are freed or the last allocator of their place is gone,
        // which any of the place's allocators may do.
        unsafe impl Allocator for $name {
            fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
                blocks::allocate($place(self), layout, false)
            }
            fn allocate_zeroed(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
                blocks::allocate($place(self), layout, true)
            }
            unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
                blocks::deallocate(block, layout)
            }
            unsafe fn grow(&self, block: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
                blocks::resize($place(self), block, old, new)
            }
            unsafe fn grow_zeroed(
                &self,
                block: NonNull<u8>,
                old: Layout,
                new: Layout,
            ) -> Result<NonNull<[u8]>, AllocError> {
                let grown = blocks::resize($place(self), block, old, new)?;
                grown.as_ptr().cast::<u8>().add(old.size()).write_bytes(0, new.size() - old.size());
                Ok(grown)
            }
            unsafe fn shrink(&self, block: NonNull<u8>, old: Layout, new: Layout) -> Result<NonNull<[u8]>, AllocError> {
                blocks::resize($place(self), block, old, new)
            }
        }
    };
}
pub(crate) use allocator;

use crate::blocks;
fn heap(all: &SharedHeap) -> &Heap {
    all
}
allocator!(&Heap, Deref::deref);
allocator!(SharedHeap, heap);
