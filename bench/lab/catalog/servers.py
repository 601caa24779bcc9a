"""Servers: the server is on the allocator, its clients are not."""

from ..servers.mariadb import MariaDb
from ..servers.php import Php
from ..servers.redis import RedisDeleted, RedisLists, RedisMixed
from ..servers.rocksdb import RocksDb
from ..workload import FULL, NORMAL, QUICK, Case

CLIENTS = {1: NORMAL, 2: FULL, 5: FULL, 10: QUICK, 20: FULL, 50: FULL, 100: NORMAL}
ONE = (Case(extent=QUICK),)

WORKLOADS = [
    MariaDb("mariadb", "rows of a small MariaDB database selected by their key, by some clients at once",
            [Case(threads=count, extent=extent) for count, extent in CLIENTS.items()]),
    RedisLists("redis", "elements of 100 bytes pushed to a redis list, and ranges read from it", ONE),
    RedisMixed("redis-mixed", "redis values of 8 to 5000 bytes stored, most of them deleted, others stored", ONE),
    RedisDeleted("redis-deleted", "redis after nine of ten values of 8 to 3000 bytes were deleted: memory over time", ONE),
    Php("php", "a small PHP site behind nginx, without PHP's own allocator: CPU time a request", ONE),
    RocksDb("rocksdb", "a rocksdb store filled in random order, read and overwritten, by two threads", ONE),
]  # fmt: skip
