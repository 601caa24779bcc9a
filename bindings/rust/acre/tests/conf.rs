//! Options that the program itself sets.

#[global_allocator]
static A: acre::Acre = acre::Acre;

acre::conf!("dirty_decay_ms:1234,arenas:3");

#[test]
fn the_options_are_in_force() {
    assert_eq!(acre::ctl::get::<isize>("opt.dirty_decay_ms").unwrap(), 1234);
    assert_eq!(acre::ctl::get::<u32>("opt.narenas").unwrap(), 3);
}
