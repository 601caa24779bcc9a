//! Values by name: every name can be read as its type says, and every mistake has its error.

use acre::ctl::{act, get, names, refresh, set, Key};
use acre::stats::{text, Format};
use acre::ErrorKind;

#[global_allocator]
static A: acre::Acre = acre::Acre;

#[test]
fn every_name_with_a_plain_type_can_be_read() {
    acre::Tag::new("a tag").unwrap(); // for stats.tags.#
    let tag = (get::<u32>("stats.tags.numbers").unwrap() - 1).to_string();
    refresh();
    let mut read = 0;
    for name in names().filter(|name| name.is_readable && name.pattern != "stats.tags.#.name") {
        let tags = name.pattern.starts_with("stats.tags");
        let concrete = name.pattern.replace('#', if tags { &tag } else { "0" });
        let error = match name.c_type {
            "bool" => get::<bool>(&concrete).err(),
            "unsigned" | "uint32_t" => get::<u32>(&concrete).err(),
            "size_t" | "uint64_t" => get::<u64>(&concrete).err().or(get::<usize>(&concrete).err()),
            "ssize_t" => get::<isize>(&concrete).err().or(get::<i64>(&concrete).err()),
            "const char *" => get::<String>(&concrete).err(),
            _ => {
                assert_eq!(get::<u64>(&concrete).unwrap_err().kind(), ErrorKind::NotAllowed, "{concrete}");
                continue;
            }
        };
        if let Some(error) = error {
            panic!("{error} ({})", name.c_type);
        }
        read += 1;
    }
    assert!(read > 100, "{read}");
}

#[test]
fn values_change() {
    let name = "arenas.dirty_decay_ms";
    let before: isize = get(name).unwrap();
    set(name, before + 5).unwrap();
    assert_eq!(get::<i64>(name).unwrap() as isize, before + 5);
    set(name, before).unwrap();

    let key: Key<bool> = Key::new("thread.tcache.enabled").unwrap();
    key.set(false).unwrap();
    assert!(!key.get().unwrap());
    key.set(true).unwrap();
    assert!(get::<bool>("thread.tcache.enabled").unwrap());
    assert_eq!(get::<String>("version").unwrap(), acre::version());

    let (a, b) = (refresh(), refresh());
    assert!(b >= a);
    let arena: u32 = get("arenas.create").unwrap();
    assert!(arena < get::<u32>("arenas.narenas").unwrap());
    act(&format!("arena.{arena}.purge")).unwrap();
}

#[test]
fn keys_take_other_numbers() {
    let key: Key<usize> = Key::new("stats.arenas.0.bins.3.curregs").unwrap();
    let other = key.at(&[4096, 7]);
    assert_eq!(format!("{other} {other:?}"), "stats.arenas.4096.bins.7.curregs Key(stats.arenas.4096.bins.7.curregs)");
    assert_eq!(other.get().unwrap(), get::<usize>("stats.arenas.4096.bins.7.curregs").unwrap());
    assert_eq!(key.at(&[]).to_string(), key.to_string());
    let error = key.at(&[0, 9999]).get().unwrap_err();
    assert_eq!((error.kind(), error.what()), (ErrorKind::NotFound, "stats.arenas.0.bins.9999.curregs"));
}

#[test]
fn mistakes_have_their_errors() {
    let kind = |error: acre::Error| error.kind();
    for wrong in ["", "stats", "stats.", "stats.alocated", "arena.x.purge", "a\0b", "stats.allocated\0"] {
        assert_eq!(kind(get::<usize>(wrong).unwrap_err()), ErrorKind::NotFound, "{wrong:?}");
        assert_eq!(kind(act(wrong).unwrap_err()), ErrorKind::NotFound, "{wrong:?}");
    }
    assert_eq!(kind(get::<bool>("stats.allocated").unwrap_err()), ErrorKind::NotAllowed);
    assert_eq!(kind(set("stats.allocated", 1_usize).unwrap_err()), ErrorKind::NotAllowed);
    assert_eq!(kind(act("stats.allocated").unwrap_err()), ErrorKind::NotAllowed);
    assert_eq!(kind(act("epoch").unwrap_err()), ErrorKind::NotAllowed);
    assert_eq!(kind(set("prof.prefix", "a\0b").unwrap_err()), ErrorKind::Invalid);
    assert_eq!(kind(act("arena.999.purge").unwrap_err()), ErrorKind::NotFound);
    assert_eq!(kind(get::<u32>("arenas.lookup").unwrap_err()), ErrorKind::Invalid);
    assert_eq!(kind(Key::<u32>::new("arenas.create").unwrap_err()), ErrorKind::NotAllowed);
    let error = get::<bool>("stats.allocated").unwrap_err();
    assert_eq!(error.to_string(), "get \"stats.allocated\": its C type is size_t, which bool is not");
}

/// What could make safe code read or write freed memory.
#[test]
fn what_is_not_safe_is_refused() {
    let arena: u32 = get("arenas.create").unwrap();
    for action in ["reset", "destroy"] {
        assert_eq!(act(&format!("arena.{arena}.{action}")).unwrap_err().kind(), ErrorKind::NotAllowed);
    }
    assert_eq!(get::<String>("stats.tags.1.name").unwrap_err().kind(), ErrorKind::NotAllowed);
    for hook in ["experimental.hooks.prof_sample", "arena.0.extent_hooks", "thread.allocatedp"] {
        assert_eq!(set(hook, 1_usize).unwrap_err().kind(), ErrorKind::NotAllowed, "{hook}");
    }
}

#[test]
fn statistics_come_in_every_form() {
    assert!(text(Format::Summary).unwrap().lines().count() > 2);
    assert!(text(Format::Text).unwrap().len() > 1000);
    assert!(text(Format::Json).unwrap().trim_end().ends_with('}'));
    assert!(text(Format::OpenMetrics).unwrap().ends_with("# EOF\n"));
}

#[test]
fn a_profile_holds_what_was_allocated_while_it_was_on() {
    #[inline(never)]
    fn keeper() -> Vec<Box<[u8]>> {
        (0..200).map(|_| vec![1; 10_000].into_boxed_slice()).collect()
    }
    let path = std::env::temp_dir().join(format!("acre-test.{}.heap", std::process::id()));
    assert!(!acre::profile::is_active());
    acre::profile::reset().unwrap();
    assert_eq!(acre::profile::write(&path).unwrap_err().kind(), ErrorKind::NotFound);
    acre::profile::start_with(1).unwrap();
    let kept = keeper();
    acre::profile::stop().unwrap();
    assert!(!acre::profile::is_active());
    acre::profile::write(&path).unwrap();
    let profile = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    // "200: 2048000 [200: 2048000] @ 0x… 0x…": blocks, bytes, and the stack that allocated them
    let line = profile.lines().find(|line| line.trim_start().starts_with("200: "));
    let frames = line.map_or(0, |line| line.matches(" 0x").count());
    assert!(frames > 4, "{frames} frames: {}", &profile[..600.min(profile.len())]);
    drop(kept);
    acre::profile::reset().unwrap();
    let error = acre::profile::write("/no/such/folder/x").unwrap_err();
    assert_eq!(error.to_string(), "profile::write \"/no/such/folder/x\": the file cannot be written");
}
