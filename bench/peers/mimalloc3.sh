# mimalloc 3: what its CMakeLists.txt does for the shared library in a release build, which it cannot do here
# itself, since the crate leaves out its folder cmake/. malloc is upstream's src/alloc-override.c.
# sh mimalloc3.sh CRATE OBJECT
set -eu
cd "$1/c_src/mimalloc/v3"
exec gcc -std=gnu11 -O3 -DNDEBUG -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-builtin-malloc \
    -DMI_MALLOC_OVERRIDE -DMI_SHARED_LIB -DMI_SHARED_LIB_EXPORT -DMI_BUILD_RELEASE -DMI_CMAKE_BUILD_TYPE=release \
    -Iinclude -shared src/alloc.c src/alloc-aligned.c src/alloc-posix.c src/arena.c src/arena-meta.c src/bitmap.c \
    src/heap.c src/init.c src/libc.c src/options.c src/os.c src/page.c src/page-map.c src/random.c src/stats.c \
    src/theap.c src/threadlocal.c src/prim/prim.c -pthread -o "$2"
