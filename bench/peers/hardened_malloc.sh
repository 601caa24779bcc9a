# hardened_malloc: the flags of its Makefile with config/default.mk, without -march=native, by clang 19; gcc 12 knows
# too little of C23. The crate has that configuration as config-default.conf. With operator new, as upstream. The light
# form is config/light.mk: no check for writes after free, no random places, no quarantine, and a guard for each eighth
# run of blocks alone.
# sh hardened_malloc.sh CRATE OBJECT
set -eu
case $2 in
    *_light.so) configuration=config-light.conf ;;
    *) configuration=config-default.conf ;;
esac
sources=$1/vendor/hardened-malloc
defines=$(sed -n 's/^\([A-Z_0-9]*\)=\(.*\)$/-D\1=\2/p' "$1/$configuration")
flags="-O3 -flto -fPIC -fvisibility=hidden -fno-plt -fstack-clash-protection -fcf-protection -fstack-protector-strong
    -D_GNU_SOURCE -I$sources -I$sources/include -I$sources/third_party"
for part in chacha h_malloc memory pages random util; do
    clang-19 -std=c2x $flags $defines -c "$sources/$part.c" -o "$part.o"
done
clang++-19 -std=c++17 -fsized-deallocation $flags $defines -c "$sources/new.cc" -o new.o
exec clang++-19 -O3 -flto -fuse-ld=lld -shared -Wl,-O1,--as-needed,-z,defs,-z,relro,-z,now,-z,nodlopen,-z,text \
    ./*.o -o "$2"
