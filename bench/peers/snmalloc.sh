# snmalloc: its own CMakeLists.txt, default options, the target that is meant to be preloaded (malloc and the
# operators; without the variants that check what the program does).
# sh snmalloc.sh CRATE OBJECT
set -eu
cmake -S "$1/upstream" -B . -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=gcc \
    -DCMAKE_CXX_COMPILER=g++ -DSNMALLOC_BUILD_TESTING=OFF
cmake --build . --target snmallocshim
exec cp libsnmallocshim.so "$2"
