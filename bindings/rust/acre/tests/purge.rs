//! Alone in its process, whose figures it asks for.

#[global_allocator]
static A: acre::Acre = acre::Acre;

#[test]
fn purging_returns_memory() {
    let all = vec![1_u8; 60 << 20];
    assert!(acre::stats::now().unwrap().allocated >= 60 << 20);
    drop(all);
    acre::purge();
    let after = acre::stats::now().unwrap();
    assert!(after.resident < 10 << 20, "{after:?}");
    assert!(after.resident >= after.active && after.active >= after.allocated, "{after:?}");
    assert!(after.mapped >= after.resident, "{after:?}");
    drop(vec![1_u8; 1 << 20]);
    assert!(acre::trim(0));
}
