/*
 * Runs taken from idle owners (src/slab/sharing.h), for exhaustive checking with SPIN: one run, whose owner
 * may be anywhere in the fast path of free when a visitor shares it; two more threads, who take blocks of the run
 * from its bin and free them; and the owner, awake again, who ends the sharing. README.md says what is abstracted;
 * the bugs MUT_* have to be found.
 *
 * A step is indivisible. A block's place is a ghost; the deferred list has its links, since what could go wrong is
 * a head that was read early and stored late. The remote list is a set: its own steps are run_protocol.pml's.
 */

#define BLOCKS 3
#define NONE   BLOCKS   /* end of list */
#define NOBODY 0
#define OWNER  1
#define OTHER  2        /* and 3 */

/* where a block is */
#define LIVE     0
#define IN_HAND  1      /* somebody is freeing it, or handing it over */
#define DEFERRED 2
#define REMOTE   3

/* the remote word */
#define OWNED  0
#define BINNED 1        /* stands for full as well: may be taken */
byte state = OWNED;
byte count = 0;         /* OWNED: blocks on the remote list; BINNED: all that are free as far as it knows */

/* the header */
byte owner = OWNER;
bool shared = false;
byte head = NONE;
byte next[BLOCKS] = NONE;
short countdown = BLOCKS;
short floor = 0;        /* used = countdown + floor: not deferred */

/* ghosts */
byte place[BLOCKS] = LIVE;
byte holder = OWNER;    /* who may use the plain fields, or NOBODY */
bool gone = false;      /* the pages are free, and the header may be another run's */
bool pushing = false;
bool visiting = false;
bool woken = false;     /* the owner is at its slow door and will not be visited */

byte live = BLOCKS;

inline free_if_all_free() {
  if
  :: state == BINNED && count == BLOCKS -> gone = true; assert(live == 0 && !pushing)
  :: else
  fi
}

/* give_back of one block, and the bin's part of it */
inline give_back(block) {
  atomic {
    assert(!gone);
    assert(place[block] != REMOTE);
    place[block] = REMOTE;
    count++;
    free_if_all_free()
  }
}

/* Takes everything off the deferred list; `hostage` stays if it is a block. */
inline move_others(from) {
  walker = from;
  do
  :: walker == NONE -> break
  :: walker != NONE ->
     assert(place[walker] == DEFERRED);
     after = next[walker];
#ifdef MUT_SHARE_BY_COUNTDOWN
     seen = countdown;
     countdown = seen + 1;
     atomic { place[walker] = REMOTE; count++ };
#else
     atomic { floor++; place[walker] = REMOTE; count++ };
#endif
     walker = after
  od
}

active proctype Owner() {
  byte block, old, walker, after, hostage;
  byte frees = 0;
  do
  :: frees < 3 ->
     frees++;
     /* the fast path; each look at shared memory is a step */
     if
     :: atomic { owner == OWNER && live > 0 ->
          if
          :: place[0] == LIVE -> block = 0
          :: place[1] == LIVE -> block = 1
          :: place[2] == LIVE -> block = 2
          fi;
          place[block] = IN_HAND; live--; pushing = true };
        assert(!gone);
        old = head;
        next[block] = old;
        atomic { head = block; place[block] = DEFERRED };
        atomic { assert(!gone); countdown--; pushing = false }
     :: owner != OWNER || live == 0 -> skip
     fi
  :: break
  od;
  /* the slow door: no visit from here on, and one under way has ended */
  atomic { !visiting -> woken = true };
  if
  :: shared ->
     /* unshare */
     walker = head; head = NONE;
     hostage = walker;
     do
     :: walker == NONE -> break
     :: walker != NONE ->
        assert(place[walker] == DEFERRED);
        after = next[walker];
        atomic { floor++; place[walker] = IN_HAND };
        walker = after
     od;
     shared = false;
     walker = hostage;
     do
     :: walker == NONE -> break
     :: walker != NONE ->
        after = next[walker];
        give_back(walker);
        walker = after
     od
  :: !shared
  fi
}

active proctype Visitor() {
  byte walker, after, hostage, blocks;
  short seen;
  byte looks = 0;
  do
  :: looks < 2 ->
     looks++;
     if
     :: atomic { !woken -> visiting = true };
        if
        :: owner == OWNER && head != NONE ->
           /* find_hostage */
           hostage = head; walker = head; blocks = 0;
           do
           :: walker == NONE -> break
           :: walker != NONE -> blocks++; walker = next[walker]
           od;
           if
#ifdef MUT_HOSTAGE_NOT_COUNTED
           :: true ->
#else
           :: countdown + floor == BLOCKS - blocks ->
#endif
              /* share */
              owner = NOBODY;
              shared = true;
              after = next[hostage];
#ifdef MUT_NO_HOSTAGE
              head = NONE;
              after = hostage;
#else
              next[hostage] = NONE;
#endif
#ifdef MUT_HEAD_STORED
              head = hostage;
#endif
              move_others(after);
              atomic { holder = NOBODY; state = BINNED; free_if_all_free() }
           :: else
           fi
        :: shared && owner == NOBODY ->
           /* all free but for the hostage */
#ifdef MUT_UNSHARE_EARLY
           if
           :: state == BINNED && count >= BLOCKS - 2 && holder == NOBODY ->
#else
           if
           :: state == BINNED && count == BLOCKS - 1 ->
#endif
              hostage = head;
              assert(hostage != NONE);
              head = NONE;
              atomic { floor++; place[hostage] = IN_HAND };
              shared = false;
              give_back(hostage)
           :: else
           fi
        :: else
        fi;
        visiting = false
     :: woken -> break
     fi
  :: break
  od
}

/* Takes the run from its bin, harvests, gives it up, and frees what it got or what else lives. */
active [2] proctype Other() {
  byte me = _pid, got = NONE, harvests = 0;
  bool as_owner;
  do
  :: atomic { harvests < 1 && state == BINNED && !gone && count > 0 && holder == NOBODY ->
              harvests++; holder = me; state = OWNED };
#ifdef MUT_TAKES_AS_OWNER
     as_owner = true;
#else
     as_owner = !shared;
#endif
     if
     :: as_owner ->
        /* owns it in full: the plain fields are its own and add up */
        atomic {
          assert(!pushing);
          assert((head == NONE) == (place[0] != DEFERRED && place[1] != DEFERRED && place[2] != DEFERRED));
          assert(countdown + floor ==
                 (place[0] != DEFERRED) + (place[1] != DEFERRED) + (place[2] != DEFERRED))
        };
        owner = me;
        owner = NOBODY
     :: !as_owner
     fi;
     /* one block of the remote list goes to the program */
     atomic {
       if
       :: place[0] == REMOTE -> got = 0
       :: place[1] == REMOTE -> got = 1
       :: place[2] == REMOTE -> got = 2
       :: else -> got = NONE
       fi;
       if
       :: got != NONE -> place[got] = LIVE; live++; count--
       :: else
       fi
     };
     atomic { holder = NOBODY; state = BINNED; free_if_all_free() }
  /* free of any live block by somebody who is not the owner */
  :: atomic { live > 0 && !gone ->
       if
       :: place[0] == LIVE -> got = 0
       :: place[1] == LIVE -> got = 1
       :: place[2] == LIVE -> got = 2
       fi;
       live--; place[got] = IN_HAND };
     give_back(got)
  :: break
  od
}

/* At rest: all blocks that nobody holds can be had. */
active proctype Rest() {
  atomic {
    timeout ->
    assert(!pushing);
    if
    :: !gone ->
       assert(countdown + floor == (place[0] != DEFERRED) + (place[1] != DEFERRED) + (place[2] != DEFERRED));
       assert(!(woken && shared));
       assert(shared || owner == OWNER || head == NONE);
       assert(count == (place[0] == REMOTE) + (place[1] == REMOTE) + (place[2] == REMOTE))
    :: gone -> assert(live == 0)
    fi
  }
}
