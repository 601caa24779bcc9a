# jemalloc: its own configure (as the crate carries it, made by autoconf from upstream's configure.ac) and Makefile,
# with default options: -O3 -funroll-loops, statistics, initial-exec TLS, malloc without a prefix.
# sh jemalloc.sh CRATE OBJECT
set -eu
cp -R "$1/jemalloc" source
cp "$1/configure/configure" source/
cd source
version=${1##*+}
sh ./configure CC=gcc CXX=g++ --with-version="$version"
make -j"$(nproc)" build_lib_shared
exec cp lib/libjemalloc.so.2 "$2"
