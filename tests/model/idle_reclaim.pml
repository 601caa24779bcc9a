/*
 * When an idle owner's runs may be reclaimed (src/heap/idle.h), for exhaustive checking with SPIN: an owner with one
 * run in its lists, another thread that frees blocks of the run, and one that reclaims the run when all of it is free.
 * ownership.pml takes for granted what is shown here: nobody else is at an owner's lists while it is. README.md says
 * what is abstracted.
 *
 * A step is indivisible. The owner's stores to `inside` wait in a store buffer and are seen by others later; its other
 * stores follow them in order, as on x86, and are seen at once, which is the harder case.
 */

#ifndef PLANTED
#define PLANTED NO_BUG
#endif
mtype:bug = { NO_BUG, IDLE_WITHOUT_WAIT, IDLE_WITHOUT_LOOK, IDLE_STALE_EVENT, IDLE_COUNTS_FIRST, IDLE_TAKES_ANY_RUN,
              IDLE_GOES_ON_WITHDRAWN }
#define bug(x) (PLANTED == x)

#define BLOCKS 3
#define NOBODY 0
#define OWNER  1
#define OTHER  2        /* made a new run with the same header */

/* values of `reclaim` */
#define NONE      0
#define ANNOUNCED 1
#define AT_WORK   2

/* ---- shared ---- */
byte owner = OWNER;
byte used = BLOCKS;       /* the owner's count: blocks with the program or on the remote list */
byte remote;              /* blocks on the remote list */
byte reclaim = NONE;
bool inside;              /* as others see it */
bool listed = true;       /* the run is in one of the owner's lists */

/* ---- ghosts, and the program ---- */
byte live = BLOCKS;       /* with the program */
bool buffered;            /* `inside` as the owner has it */
bool older_store;         /* a store that is older than the announcement is still in the buffer */
bool late;                /* the owner is between its look at `owner` and its last store */
bool busy;                /* the owner is at its lists */
bool gone;                /* the run's pages are free */

inline drain() { inside = buffered; older_store = false }

/* OwnerAtWork; a compare-and-swap empties the buffer */
inline enter() {
  buffered = true;
  do
  :: atomic { reclaim == NONE || bug(IDLE_WITHOUT_LOOK) -> busy = true; break }
  :: atomic { reclaim == ANNOUNCED && !bug(IDLE_WITHOUT_LOOK) -> reclaim = NONE; drain(); busy = true; break }
  :: reclaim == AT_WORK && !bug(IDLE_WITHOUT_LOOK) ->
     atomic { reclaim != AT_WORK -> drain() }   /* waits for the registry's lock */
  od
}

inline leave() { atomic { busy = false; buffered = false } }

active proctype Owner() {
  do
  /* free of a block in a run of its own: the fast path, and the event that follows the last one */
  :: atomic { live > 0 && owner == OWNER -> live--; late = true };
     if
     :: bug(IDLE_COUNTS_FIRST) -> used--; late = false
     :: else -> atomic { used--; late = false }
     fi;
     if
     :: used == 0 ->
        enter();
        if
        :: owner == OWNER || bug(IDLE_STALE_EVENT) ->
           assert(owner == OWNER && !gone);
           listed = false; gone = true; owner = NOBODY
        :: else
        fi;
        leave()
     :: else
     fi
  /* the slow path: perhaps it takes the run off its list */
  :: enter();
     if
     :: skip
     :: listed -> assert(owner == OWNER && !gone); listed = false; leave(); break
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
  :: atomic { inside != buffered || older_store -> drain() }
  od
}

active proctype Reclaimer() {
  byte seen_used, looks;
  bool goes_on;
  do
  :: looks < 3 ->
     looks++;
     if
     :: atomic { reclaim == NONE -> reclaim = ANNOUNCED; older_store = (inside != buffered) };
        !older_store || bug(IDLE_WITHOUT_WAIT)    /* the wait between two looks */
     :: goes_on                                   /* a step that is not the first: the reclaim may be withdrawn */
     fi;
     if
     :: atomic { reclaim == ANNOUNCED || (goes_on && bug(IDLE_GOES_ON_WITHDRAWN)) -> reclaim = AT_WORK; goes_on = false };
        if
        :: !inside && listed ->
           seen_used = used;
           if
           :: seen_used == remote || bug(IDLE_TAKES_ANY_RUN) ->
              assert(live == 0 && !late && !busy && listed && owner == OWNER);
              listed = false; owner = NOBODY; gone = true
           :: else
           fi
        :: else
        fi;
        if
        :: reclaim = NONE
        :: reclaim = ANNOUNCED; goes_on = true    /* there is more than a step may look at */
        fi
     :: atomic { reclaim != ANNOUNCED -> goes_on = false }    /* withdrawn */
     fi
  :: break
  od
}

/* The header of a run that is gone serves another. */
active proctype Maker() {
  if
  :: atomic { gone && owner == NOBODY -> owner = OTHER; used = BLOCKS }
  :: skip
  fi
}
