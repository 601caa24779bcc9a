# Google's tcmalloc: all of tcmalloc but its tests, and those parts of Abseil that it uses. The flags are those of
# upstream's Bazel build with -c opt (-O2, frame pointers, sections), its default page size of 8 KiB, and no
# mock-ups or experiments. Upstream is linked into the program; an object to preload comes closest with its names
# hidden and static TLS. malloc is upstream's libc_override.h, which tcmalloc.cc includes.
# sh tcmalloc.sh CRATE OBJECT
set -eu
c=$1/c_src

sources() {
    (cd "$c" && find tcmalloc/tcmalloc -name '*.cc' | grep -vE 'mock_|want_|profile_(builder|marshaler)|test')
    echo tcmalloc/tcmalloc/internal/percpu_rseq_asm.S
    while read -r folder names; do
        for name in $names; do
            echo "abseil-cpp/absl/$folder/$name.cc"
        done
    done <<END
base/internal cycleclock low_level_alloc raw_logging spinlock spinlock_wait strerror sysinfo thread_identity
base/internal throw_delegate unscaledcycleclock
container/internal raw_hash_set
crc crc32c
crc/internal crc crc_cord_state crc_memcpy_fallback crc_x86_arm_combined
debugging stacktrace
debugging/internal address_is_readable
hash/internal city hash low_level_hash
numeric int128
profiling/internal exponential_biased
status status status_payload_printer statusor
status/internal status_internal
strings ascii charconv cord escaping match numbers str_cat
strings/internal charconv_bigint charconv_parse cord_internal cord_rep_btree cord_rep_btree_navigator
strings/internal cord_rep_btree_reader cord_rep_consume cord_rep_crc cordz_functions cordz_handle cordz_info
strings/internal escaping memutil stringify_sink utf8
strings/internal/str_format arg bind extension float_conversion output parser
synchronization mutex
synchronization/internal create_thread_identity futex_waiter kernel_timeout per_thread_sem waiter_base
time clock duration time
time/internal/cctz/src time_zone_fixed time_zone_if time_zone_impl time_zone_info time_zone_libc
time/internal/cctz/src time_zone_lookup time_zone_posix zone_info_source
END
}

compile() {
    object=$(echo "$2" | tr / -).o
    exec g++ -std=c++17 -O2 -DNDEBUG -w -fPIC -ftls-model=initial-exec -fvisibility=hidden -fno-omit-frame-pointer \
        -ffunction-sections -fdata-sections -DNOMINMAX -I"$1/abseil-cpp" -I"$1/tcmalloc" -c "$1/$2" -o "$object"
}

if [ "${3-}" ]; then  # sh tcmalloc.sh CRATE - SOURCE: one of them
    compile "$c" "$3"
fi
sources | xargs -P "$(nproc)" -n 1 sh "$0" "$1" -
exec g++ -shared ./*.o -Wl,--gc-sections -Wl,--no-undefined -pthread -o "$2"
