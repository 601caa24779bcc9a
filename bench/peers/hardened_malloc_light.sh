# hardened_malloc with config/light.mk: no check for writes after free, no random places, no quarantine, and a guard for
# each eighth run of blocks alone.
# sh hardened_malloc_light.sh CRATE OBJECT
configuration=config-light.conf
. "$(dirname "$0")/hardened_malloc.sh"
