//! Builds acre's C++ sources into a static library, or finds an installed library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-env-changed=ACRE_SYS_USE_PKG_CONFIG");
    println!("cargo:rerun-if-env-changed=DOCS_RS");
    if env::var_os("DOCS_RS").is_some() {
        return;
    }
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let (system, libc, processor) = (target("OS"), target("ENV"), target("ARCH"));
    if system != "linux" || libc != "gnu" || !["x86_64", "aarch64"].contains(&processor.as_str()) {
        panic!(
            "acre-sys: this crate builds acre for Linux with glibc, on x86-64 and aarch64; this target is {}. Depend on it under \
             [target.'cfg(all(target_os = \"linux\", target_env = \"gnu\"))'.dependencies]",
            env::var("TARGET").unwrap_or_default()
        );
    }
    match env::var("ACRE_SYS_USE_PKG_CONFIG").as_deref() {
        Ok("1") => link_installed(),
        Ok("" | "0") | Err(_) => build(&processor),
        Ok(other) => panic!("acre-sys: ACRE_SYS_USE_PKG_CONFIG is '{other}'; set it to 1 or 0"),
    }
}

fn link_installed() {
    let version = env::var("CARGO_PKG_VERSION").unwrap();
    if let Err(error) = pkg_config::Config::new().atleast_version(&version).probe("acre") {
        panic!(
            "acre-sys: ACRE_SYS_USE_PKG_CONFIG=1, but pkg-config finds no acre {version} or later: install acre, set \
             PKG_CONFIG_PATH to the folder of its acre.pc, or unset ACRE_SYS_USE_PKG_CONFIG\n{error}"
        );
    }
}

/// The files in `folder`, and in folders below it, that end in `.cc`.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("acre-sys: {}: {error}", folder.display()));
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "cc") {
            into.push(path);
        }
    }
}

/// As cmake/AcreTarget.cmake compiles the static library.
fn build(processor: &str) {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let mut files = Vec::new();
    sources(Path::new("acre/src"), &mut files);
    files.sort();
    println!("cargo:rerun-if-changed=acre/include");

    let mut all = cc::Build::new();
    all.cpp(true).cpp_link_stdlib(None).std("c++20").include("acre/src").include("acre/include");
    // Also in debug builds of the program, which would be slow otherwise.
    all.opt_level(2).debug(false).warnings(false);
    let takes_over = env::var_os("CARGO_FEATURE_OVERRIDE").is_some();
    all.define("ACRE_PREFIX_ONLY", if takes_over { "0" } else { "1" });
    all.define("ACRE_STATIC_ARCHIVE", "1").define("ACRE_TESTING", "0").define("ACRE_DEBUG", "0");
    for flag in [
        "-fvisibility=hidden",
        "-fvisibility-inlines-hidden",
        "-fno-rtti",
        "-fno-stack-protector",
        "-fno-threadsafe-statics",
        "-fno-tree-slp-vectorize",
        "-ftls-model=initial-exec",
        "-fno-plt",
        "-fasynchronous-unwind-tables",
        "-w",
    ] {
        all.flag(flag);
    }
    all.flag_if_supported("-fno-semantic-interposition");
    if processor == "x86_64" {
        all.flag("-fcf-protection=none");
    }
    // A compiler that knows what malloc does may turn the body of calloc into a call of calloc.
    for function in [
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "free",
        "free_sized",
        "free_aligned_sized",
        "aligned_alloc",
        "posix_memalign",
        "memalign",
        "valloc",
        "pvalloc",
    ] {
        all.flag(format!("-fno-builtin-{function}"));
    }

    let mut plain = all.clone();
    plain.flag("-fno-exceptions");
    let mut entry = plain.clone();
    let mut behind = plain.clone();
    // Where stacks are followed by frame pointers, there has to be one from malloc's slow path on.
    behind.flag("-fno-omit-frame-pointer");
    // These stop exceptions of an operator new that the program has replaced.
    let mut operators = all.clone();
    operators.flag("-fexceptions");
    for file in files {
        if file.ends_with("entry/operators_slow.cc") {
            operators.file(file);
        } else if file.components().any(|part| part.as_os_str() == "entry") {
            entry.file(file);
        } else {
            behind.file(file);
        }
    }
    precompile(&mut behind, &out.join("behind.h"));
    precompile(&mut entry, &out.join("entry.h"));

    let mut library = cc::Build::new();
    library.cpp(true).cpp_link_stdlib(None);
    for part in [&operators, &entry, &behind] {
        library.objects(part.compile_intermediates());
    }
    library.compile("acre");
}

/// Compiles once what nearly every source includes.
fn precompile(build: &mut cc::Build, header: &Path) {
    fs::write(header, "#include <atomic>\n#include <cstddef>\n#include <cstdint>\n#include <new>\n").unwrap();
    let compiler = build.get_compiler();
    let mut command: Command = compiler.to_command();
    let kind = if compiler.is_like_clang() { "pch" } else { "gch" };
    command.args(["-x", "c++-header"]).arg(header).arg("-o").arg(header.with_extension(format!("h.{kind}")));
    if command.status().is_ok_and(|status| status.success()) {
        build.flag("-include").flag(header.to_str().expect("OUT_DIR is not UTF-8"));
    }
}
