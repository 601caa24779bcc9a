# rpmalloc: the flags of its configure.py for rpmallocwrap, the shared library to preload, in a release build with
# gcc. malloc is upstream's rpmalloc/malloc.c, which rpmalloc.c includes with ENABLE_OVERRIDE.
# sh rpmalloc.sh CRATE OBJECT
set -eu
cd "$1/rpmalloc/rpmalloc"
exec gcc -std=c11 -O3 -g -funroll-loops -funit-at-a-time -fstrict-aliasing -fno-math-errno -ffinite-math-only \
    -funsafe-math-optimizations -fno-trapping-math -ffast-math -D_GNU_SOURCE=1 -DRPMALLOC_COMPILE=1 \
    -DBUILD_RELEASE=1 -DENABLE_PRELOAD=1 -DENABLE_OVERRIDE=1 -I. -fPIC -shared rpmalloc.c -pthread -ldl -o "$2"
