/*
 * Visits to idle heaps (src/heap/idle.h), for exhaustive checking with SPIN: an owner with one run on its
 * shelves, another thread that frees blocks of the run, and a visitor who takes the run when all of it is
 * free. README.md says what is abstracted; the bugs MUT_* have to be found.
 *
 * A step is indivisible. The owner's stores to `inside` wait in a store buffer and are seen by others later;
 * its other stores follow them in order, as on x86, and are seen at once, which is the harder case.
 */

#define BLOCKS 3
#define NOBODY 0
#define OWNER  1
#define STRANGER 2      /* made a new run with the same header */

/* Visit */
#define NONE      0
#define ANNOUNCED 1
#define AT_WORK   2

/* ---- shared ---- */
byte owner = OWNER;
byte used = BLOCKS;     /* the owner's count: blocks with the program or on the remote list */
byte remote = 0;        /* blocks on the remote list */
byte visit = NONE;
bool inside = false;    /* as others see it */
bool on_shelf = true;   /* the owner's, or a visitor's at work */

/* ---- ghosts, and the program ---- */
byte live = BLOCKS;     /* with the program */
bool buffered = false;  /* `inside` as the owner has it */
bool older_store = false; /* one that is older than the announcement is still in the buffer */
bool pushing = false;   /* the owner is between its look at `owner` and its last store */
bool busy = false;      /* the owner is at its shelves */
bool gone = false;      /* the run's pages are free */

inline see_inside() { inside = buffered; older_store = false }

/* BusyAtShelves */
inline enter() {
  atomic { buffered = true };
#ifndef MUT_NO_LOOK
  if
  :: atomic { visit == NONE -> busy = true }
  :: visit != NONE -> turn_away()
  fi
#else
  busy = true
#endif
}

/* A compare-and-swap empties the buffer. */
inline turn_away() {
  do
  :: atomic { visit == ANNOUNCED -> visit = NONE; see_inside(); busy = true; break }
  :: atomic { visit == NONE -> see_inside(); busy = true; break }
  :: visit == AT_WORK -> visit != AT_WORK   /* waits for the registry's lock */
  od
}

inline leave() { atomic { busy = false; buffered = false } }

active proctype Owner() {
  do
  /* free of a block, the fast path */
  :: atomic { live > 0 && owner == OWNER -> live--; pushing = true };
#ifdef MUT_COUNT_FIRST
     used--;
     pushing = false;             /* the store of the list's head comes after it */
#else
     atomic { used--; pushing = false };
#endif
     if
     :: used == 0 ->              /* the event: racy, as in the code */
        enter();
        if
#ifndef MUT_STALE_EVENT
        :: owner != OWNER -> skip
        :: owner == OWNER ->
#else
        :: true ->
#endif
           assert(owner == OWNER && !gone);
           on_shelf = false; gone = true; owner = NOBODY
        fi;
        leave()
     :: used != 0 -> skip
     fi
  /* free of a block of a run that it does not own (any more) */
  :: atomic { live > 0 && owner != OWNER && !gone -> live--; remote++ }
  /* something at the slow door: perhaps it takes the run off its shelf */
  :: enter();
     if
     :: skip
     :: on_shelf -> assert(owner == OWNER && !gone); on_shelf = false; leave(); break
     fi;
     leave()
  :: break
  od
}

active proctype Remote() {
  do
  :: atomic { live > 0 && !gone -> live--; remote++ }
  :: break
  od
}

/* The processor empties the owner's store buffer whenever it likes. */
active proctype Buffer() {
end:
  do
  :: atomic { inside != buffered || older_store -> see_inside() }
  od
}

active proctype Visitor() {
  byte seen_used, looks = 0;
  do
  :: looks < 3 ->
     looks++;
     atomic { visit == NONE -> visit = ANNOUNCED; older_store = (inside != buffered) };
#ifndef MUT_NO_WAIT
     !older_store;                /* the wait between two looks */
#endif
     if
     :: atomic { visit == ANNOUNCED -> visit = AT_WORK };
        if
        :: inside
        :: !inside ->
           if
           :: on_shelf ->
              seen_used = used;
              if
#ifndef MUT_ANY_RUN
              :: seen_used == remote ->
#else
              :: true ->
#endif
                 assert(live == 0 && !pushing && !busy && on_shelf && owner == OWNER);
                 on_shelf = false; owner = NOBODY; gone = true
              :: seen_used != remote
              fi
           :: !on_shelf
           fi
        fi;
        visit = NONE
     :: visit != ANNOUNCED        /* withdrawn */
     fi
  :: break
  od
}

/* A run that is gone is made again, with the same header, by somebody else. */
active proctype Maker() {
  if
  :: atomic { gone && owner == NOBODY -> owner = STRANGER; used = BLOCKS }
  :: skip
  fi
}
