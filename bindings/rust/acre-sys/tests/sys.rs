//! The library answers, with the version and the flags of these declarations.

use acre_sys::*;
use core::ffi::{c_char, c_int, c_uint, c_void, CStr};
use core::{mem, ptr};

unsafe fn ctl<T>(name: &[u8], new: *mut c_void, new_bytes: usize) -> Result<T, c_int> {
    let mut value = mem::MaybeUninit::<T>::uninit();
    let mut size = mem::size_of::<T>();
    let name = name.as_ptr() as *const c_char;
    match acre_mallctl(name, value.as_mut_ptr() as *mut c_void, &mut size, new, new_bytes) {
        0 => Ok(value.assume_init()),
        error => Err(error),
    }
}

#[test]
fn the_library_has_the_version_of_the_crate() {
    // SAFETY: a constant.
    let version = unsafe { CStr::from_ptr(acre_version()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn flags_choose_alignment_zeroes_and_arena() {
    // SAFETY: blocks are freed once, and arenas.lookup takes a block's address.
    unsafe {
        let arena: c_uint = ctl(b"arenas.create\0", ptr::null_mut(), 0).unwrap();
        let mut block = acre_mallocx(5000, MALLOCX_ALIGN(4096) | MALLOCX_ZERO | MALLOCX_ARENA(arena));
        assert!(!block.is_null() && block as usize % 4096 == 0);
        assert!(core::slice::from_raw_parts(block as *const u8, 5000).iter().all(|byte| *byte == 0));
        let address: *mut *mut c_void = &mut block;
        let found: c_uint = ctl(b"arenas.lookup\0", address as *mut c_void, mem::size_of::<*mut c_void>()).unwrap();
        assert_eq!(found, arena);
        assert!(acre_sallocx(block, 0) >= acre_nallocx(5000, 0));
        acre_dallocx(block, MALLOCX_TCACHE_NONE);
        assert_eq!(acre_owns(block), 0);
    }
}

#[test]
fn structures_are_filled() {
    // SAFETY: zeroes are values of the structures, and the calls fill them.
    unsafe {
        let mut class: acre_size_class = mem::zeroed();
        for index in 0.. {
            if acre_size_class_info(index, &mut class) != 0 {
                break;
            }
            // What the crate acre takes for granted of malloc's blocks.
            assert!(class.alignment >= if class.size <= 8 { 8 } else { 16 }, "{class:?}");
        }
        let mut option: acre_option = mem::zeroed();
        assert_eq!(acre_option_info(0, &mut option), 0);
        assert!(option.least <= option.value && option.value <= option.most);
        assert!(acre_mallinfo2().uordblks > 0 || acre_mallinfo2().hblkhd > 0 || acre_mallinfo2().fordblks > 0);
    }
}
