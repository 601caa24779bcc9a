/*
 * What all threads see: the header of a slab run (src/slab/slab.h), its blocks, bins, heaps; what must hold after every
 * step; and what is done to a word or a block in one step. There is one header. When the pages of its run are free, the
 * header may serve another run, of another class.
 */

/*
 * The shape of a configuration, which run.py sets with -D:
 *   THREADS       2 or 3. A thread's number is its token.
 *   CLASSES       size classes, each with a bin: 1 or 2
 *   CAPACITY_0    blocks in a run of class 0, at most 3; CAPACITY_1
 *   ENOUGH_0      free blocks that put such a run into its bin; ENOUGH_1
 *   START         NO_RUN; or FULL or KEPT: a run of class 0 that thread 1 was the last owner of, or keeps
 *   CUT           blocks that such a run begins with, all with the program
 *   MALLOCS_1     how often thread 1 may call malloc; LOOKS_1: how often it may look at another's heap; FORKS_1
 *   OUTBOXES      blocks of others wait in outboxes
 *   OWN_RUNS      threads own runs; or they leave each new run to all
 *   TAKE_BLOCKS   threads may take a block of a run that is not shared
 *   PURGES        how often the run may be purged
 *   PLANTED       a bug, or NO_BUG
 *   SHOW          if defined, each step is printed
 */

mtype:bug = {
  NO_BUG, MAKE_KEEPS_WORD,
  RELEASE_STORES_WORD, RELEASE_CLEARS_OWNER_LATE,
  ADOPT_BESIDE_SHARE, ADOPT_BINNED, ADOPT_FORGETS_DEFERRED, ADOPT_WITHOUT_HEAP, INHERIT_UNBINNED, INHERIT_SHARED,
  GIVE_BACK_STORES_WORD, GIVE_BACK_READS_BIN_LATE, OFFER_WITHOUT_LOOK, RECLAIM_UNBINNED,
  TAKE_COUNTS_LOCAL, TAKE_UNLOCKED, TAKE_SHARED_AS_OWNER,
  TAKE_BLOCK_UNLOCKED, TAKE_BLOCK_STORES_WORD, TAKE_BLOCK_STAYS_BINNED, TAKE_BLOCK_OF_OWNER,
  TAKE_LOCAL_LATE, TAKE_BLOCK_LEAVES_BIN_LATE,
  SHARE_WITHOUT_HOSTAGE, SHARE_UNCOUNTED_HOSTAGE, SHARE_STORES_HEAD,
  UNSHARE_EARLY, UNSHARE_KEEPS_SHARED,
  PURGE_IN_THE_BIN, PURGE_STORES_HEAD, PURGE_TAKES_HOSTAGE, OWN_WITHOUT_RESTORE,
  DEFER_COUNTS_FIRST, EVENT_OF_A_LOST_RUN,
  END_KEEPS_OUTBOX, END_KEEPS_RUN, END_KEEPS_SHARED_RUN,
  FORK_WITHOUT_BIN_LOCK, FORK_BESIDE_EMPTYING, FORK_WITHOUT_DISOWN
}
#define bug(x) (PLANTED == x)

#define NONE      0
#define BLOCKS    3     /* numbered from 1: 0 ends a list */
#define NO_CLASS  9     /* the pages are free, and the header serves no run */
#define NO_RUN    9     /* values of START, beside FULL */
#define KEPT      8

#define bit(i)           (1 << (i))
#define capacity_of(c)   ((c) == 0 -> CAPACITY_0 : CAPACITY_1)
#define enough_of(c)     ((c) == 0 -> ENOUGH_0 : ENOUGH_1)

/* states of the remote word, as in word.h: one less than binned is full, 4 is the shared bit */
#define OWNED          0
#define FULL           1
#define BINNED         2
#define SHARED_FULL    5
#define SHARED_BINNED  6
#define is_shared(s)   ((s) >= SHARED_FULL)
#define is_full(s)     ((s) == FULL || (s) == SHARED_FULL)
#define is_binned(s)   ((s) == BINNED || (s) == SHARED_BINNED)
#define unowned_state(free_blocks, c, shared) \
  (((free_blocks) >= enough_of(c) -> BINNED : FULL) + ((shared) -> 4 : 0))

/* where a block is; held: some thread is about to free it, or it waits in an outbox */
#define UNCUT     0
#define LIVE      1
#define HELD      2
#define DEFERRED  3
#define REMOTE    4
#define PURGED    5     /* free and on no list: uncut again (slab/purge.h) */
#define DETACHED  6     /* free, with the thread that purges the run */

/* ---- the header ---- */

byte state, free, local_free, head; /* the remote word */
byte owner, last_owner;             /* tokens */
byte class = NO_CLASS;              /* stands for capacity, enough and the bin */
byte deferred, used, carved;        /* the first: head of a list */
byte binned_in;                     /* bin + 1, or NONE */
byte next[BLOCKS + 1];              /* really inside the blocks. The program's own data is a link to the block. */

/* ---- bins and heaps ---- */

byte lock[CLASSES];                 /* of each bin: the thread inside */
byte lists[THREADS + 1];          /* who is at a thread's lists: itself, or a reclaiming thread (idle.h) */
byte out[THREADS + 1];              /* each thread's outbox: a set of blocks */
byte kept_by;                       /* the thread in whose lists of adopted and available runs the run is */
byte purges = PURGES;
byte ended;                         /* set of threads whose heaps have ended */
byte shared_from;                   /* the thread in whose list of shared runs it is: its former owner */

/* ---- ghosts ---- */

byte place[BLOCKS + 1];
byte holder;        /* who has changed the word to owned */
byte late;          /* threads in the fast path of free, between the look at `owner` and the last store */
byte resting;       /* set of threads without a heap, and neither in malloc nor in free */
byte vanishing;     /* set of threads that a fork is about to leave behind */
bool in_child;
bool lost;          /* the run was in the hands of a thread that vanished */

#define number(p)   ((place[1] == p) + (place[2] == p) + (place[3] == p))
#define uncut       (capacity_of(class) - carved)
#define everybody   (bit(THREADS + 1) - 2)

/* Length of a list, or more than BLOCKS if it runs in a circle. */
#define length_1(h)  ((h) == 0 -> 0 : 9)
#define length_2(h)  ((h) == 0 -> 0 : 1 + length_1(next[h]))
#define length_3(h)  ((h) == 0 -> 0 : 1 + length_2(next[h]))
#define length(h)    ((h) == 0 -> 0 : 1 + length_3(next[h]))

/* ---- invariants ---- */

#define a_run  (class != NO_CLASS)

#define the_word_is_exact  (free == number(REMOTE) + local_free && (state != OWNED || local_free == 0))
#define enough_is_binned   (state == OWNED || state == unowned_state(free, class, is_shared(state)))
#define local_is_exact     (local_free == uncut + number(PURGED) + number(DETACHED) \
                            + (is_shared(state) -> 0 : number(DEFERRED)))
#define used_is_exact      (used + number(DEFERRED) + uncut == capacity_of(class))
#define in_its_own_bin     (is_binned(state) && binned_in == class + 1)

/* Each option is open only where something is wrong, but for the last, where nothing can happen any more. */
active proctype Invariants() {
end:
  atomic {
    if
    :: a_run && !the_word_is_exact -> assert(the_word_is_exact)
    :: a_run && !enough_is_binned -> assert(enough_is_binned)
    :: a_run && state != OWNED && lock[0] == NONE && lock[CLASSES - 1] == NONE && !local_is_exact ->
       assert(local_is_exact)
    :: a_run && owner != NONE && late == 0 && !lost && !used_is_exact -> assert(used_is_exact)
    :: a_run && owner != NONE && state != OWNED -> assert(state == OWNED)
    :: binned_in != NONE && !in_its_own_bin -> assert(in_its_own_bin)
    :: kept_by != NONE && lists[kept_by] == NONE && owner != kept_by -> assert(owner == kept_by)
    :: shared_from != NONE && lists[shared_from] == NONE && !is_shared(state) -> assert(is_shared(state))
    :: !a_run && (owner | binned_in | kept_by | shared_from) != NONE -> assert(a_run)

    /* at rest: nothing is lost but by a fork */
    :: resting == everybody && a_run && !lost && state == OWNED -> assert(state != OWNED)
    :: resting == everybody && a_run && !lost && is_binned(state) && binned_in == NONE -> assert(binned_in != NONE)
    :: resting == everybody && a_run && state != OWNED && length(head) != number(REMOTE) ->
       assert(length(head) == number(REMOTE))
    :: resting == everybody && a_run && !in_child && is_shared(state) -> assert(!is_shared(state))
    :: resting == everybody && a_run && !in_child && number(HELD) != 0 -> assert(number(HELD) == 0)
    :: resting == everybody && a_run && !in_child && number(LIVE) == 0 -> assert(number(LIVE) != 0)
    :: resting == everybody && (lock[0] | lock[CLASSES - 1] | lists[1] | lists[2] | lists[THREADS]) != NONE ->
       assert(lock[0] == NONE)
    :: timeout -> assert(resting == everybody)
    fi
  }
}

/* ---- the remote word, for a thread ---- */

inline load_word() { seen_state = state; seen_free = free; seen_local = local_free; seen_head = head }
inline store_word() { state = seen_state; free = seen_free; local_free = seen_local; head = seen_head }

/* Whether compare-and-swap of the word that was loaded succeeds: it compares values. */
#define unchanged  (seen_state == state && seen_free == free && seen_local == local_free && seen_head == head)

inline set_owned() {
  assert(holder == NONE);
  holder = me;
  free = (bug(TAKE_COUNTS_LOCAL) -> free : free - local_free);
  local_free = 0;
  state = OWNED
}

inline set_unowned(shared) {
  holder = NONE;
  state = unowned_state(free, c, shared)
}

/* ---- blocks ---- */

/* A local block: a deferred one, or one not yet cut. The hostage is neither. */
inline take_local_block() {
  if
  :: deferred != 0 && (!is_shared(state) || bug(TAKE_BLOCK_OF_OWNER)) ->
     b = deferred;
     deferred = next[b];
     assert(place[b] == DEFERRED)
  :: else ->
     carved++;
     b = carved;
     assert(b <= capacity_of(class) && place[b] == UNCUT)
  fi;
  place[b] = HELD
}

/* The program writes into its block. */
inline hand_out() {
  assert(place[b] == HELD);
  place[b] = LIVE;
  next[b] = b
}

inline push_deferred() {
  next[b] = deferred;
  deferred = b;
  place[b] = DEFERRED
}

/* Who becomes the owner gets all purged blocks as deferred ones. */
inline restore_all() {
  link = 1;
  do
  :: link > BLOCKS -> break
  :: link <= BLOCKS && place[link] == PURGED && !bug(OWN_WITHOUT_RESTORE) ->
     next[link] = deferred;
     deferred = link;
     place[link] = DEFERRED
  :: else -> link++
  od;
  link = 0
}

inline no_blocks() {
  place[1] = UNCUT; place[2] = UNCUT; place[3] = UNCUT;
  next[1] = 0; next[2] = 0; next[3] = 0
}
