/*
 * Common runs (src/slab/bin.cc, take_block), for exhaustive checking with SPIN: runs that no thread owns. Blocks are
 * taken from the bin's lowest run, one at a time and under the bin's lock, while any thread gives blocks back without
 * it. README.md says what is abstracted; the bugs MUT_* have to be found.
 *
 * A thread is a table of steps; `todo` names its next one. A step is indivisible: it touches one thing that others can
 * change or see at that moment, and besides only what nobody else can observe, such as what the lock protects while it
 * is held. A compare-and-swap that fails tells the word, so the reload is part of its step.
 */

/* ---- the shape of a configuration; run.py sets these with -D ---- */

#ifndef RUNS
#define RUNS 2          /* headers, each with pages for a run: 1 or 2 */
#endif
#ifndef CAPACITY
#define CAPACITY 3      /* blocks in a run: 2 or 3 */
#endif
#ifndef MALLOCS_1
#define MALLOCS_1 3     /* how often thread 1 may call malloc; every thread frees whatever it likes */
#endif
#ifndef MALLOCS_2
#define MALLOCS_2 2
#endif
#ifndef MALLOCS_3
#define MALLOCS_3 1
#endif
/* SHOW prints each step in a replay. */

#define NONE    0
#define GARBAGE 9       /* what the program writes where a block's link was */

/* states of the remote word */
#define OWNED   0
#define FULL    1
#define BINNED  2

/* sets of blocks */
#define only(i) (1 << (i))
#define ones(m) (((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1))

typedef Run {
  /* the remote word: one 64-bit atomic */
  byte holding;
  byte free;            /* all free blocks: those on the remote list, and … */
  byte uncut;           /* … those never cut, `local` in the code */
  byte head;            /* first block of the remote list, as block + 1, or NONE */

  /* under the bin's lock */
  bool binned;          /* lies in the bin, and binned_in says so */
  byte carved;

  byte next[CAPACITY];  /* the links of the remote list; really inside the blocks */

  /* Ghosts: where the blocks are, and who is about to do what. */
  bool pages;           /* false: the page heap has them, and the header is spare */
  byte live;            /* blocks that the program has; any thread may free any of them */
  byte hand;            /* blocks on their way to the program, or back */
  byte listed;          /* the blocks that the remote list should contain */
  byte owed;            /* local blocks that were taken and are yet to be cut */
  byte offerer;         /* the thread that made the run BINNED and will put it into the bin */
  byte poppers;         /* threads between load and swap of the word */
}

Run run_[RUNS];

byte lock;              /* the thread inside, or NONE */
byte busy;              /* threads in malloc or free */

/* The lowest run of the bin; RUNS: there is none. */
#if RUNS > 1
#define lowest_in_bin  (run_[0].binned -> 0 : (run_[1].binned -> 1 : RUNS))
#define program_has_blocks (run_[0].live != 0 || run_[1].live != 0)
#else
#define lowest_in_bin  (run_[0].binned -> 0 : RUNS)
#define program_has_blocks (run_[0].live != 0)
#endif

/* Compare-and-swap compares values, and so succeeds after any number of changes that end in the same value. */
#define unchanged(r)   (seen_holding == run_[r].holding && seen_free == run_[r].free \
                        && seen_uncut == run_[r].uncut && seen_head == run_[r].head)
#define seen_all_free  (seen_holding == BINNED && seen_free == CAPACITY)

inline load_word(r) {
  seen_holding = run_[r].holding; seen_free = run_[r].free; seen_uncut = run_[r].uncut; seen_head = run_[r].head
}

inline set_word(r, to_holding, to_free, to_uncut, to_head) {
  run_[r].holding = to_holding; run_[r].free = to_free; run_[r].uncut = to_uncut; run_[r].head = to_head
}

/* ---- invariants ---- */

/* What must hold of every run after every step. */
inline check(r) {
  if
  :: !run_[r].pages ->
     /* nobody touches a run that has been returned */
     assert(run_[r].holding == OWNED && run_[r].free == 0 && run_[r].uncut == 0 && run_[r].head == NONE);
     assert(!run_[r].binned && run_[r].carved == 0 && run_[r].offerer == NONE);
     assert(run_[r].live == 0 && run_[r].hand == 0 && run_[r].listed == 0 && run_[r].owed == 0)
  :: run_[r].pages && run_[r].holding == OWNED ->
     /* new, or about to go */
     assert(run_[r].live == 0 && run_[r].listed == 0 && run_[r].owed == 0 && run_[r].offerer == NONE);
     assert(run_[r].free == 0 && run_[r].uncut == 0 && run_[r].head == NONE);
     assert(!run_[r].binned || lock != NONE)
  :: run_[r].pages && run_[r].holding != OWNED ->
     /* the remote list, walked by its links, is what was pushed */
     at = run_[r].head; count = 0;
     do
     :: at != NONE ->
        assert(at <= CAPACITY && (run_[r].listed & only(at - 1)) && count < CAPACITY);
        count++;
        at = run_[r].next[at - 1]
     :: else -> break
     od;
     assert(count == ones(run_[r].listed));
     count = 0;
     /* the counts are exact, and no block is lost or has two users */
     assert(run_[r].free == ones(run_[r].listed) + run_[r].uncut);
     assert(run_[r].carved + run_[r].uncut + run_[r].owed == CAPACITY);
     assert(run_[r].free + ones(run_[r].live) + ones(run_[r].hand) + run_[r].owed == CAPACITY);
     assert((run_[r].live | run_[r].hand | run_[r].listed) == only(run_[r].carved) - 1);
     /* exhausted or not; in the bin or in the hands of its offerer */
     assert(run_[r].holding != FULL || run_[r].free == 0);
     assert(run_[r].offerer == NONE || (run_[r].holding == BINNED && (!run_[r].binned || lock != NONE)));
     assert(lock != NONE || run_[r].binned == (run_[r].holding == BINNED && run_[r].offerer == NONE))
  fi
}

/* What else must hold while no thread is in malloc or free. */
inline check_at_rest(r) {
  assert(lock == NONE && run_[r].hand == 0 && run_[r].owed == 0);
  assert(run_[r].offerer == NONE && run_[r].poppers == 0);
  /* all free runs have been returned, the others can be had if they have a block to give */
  assert(!run_[r].pages || (run_[r].live != 0 && run_[r].binned == (run_[r].free > 0)))
}

#define assert_there(r)  assert(run_[r].pages)

/* ---- steps ---- */

mtype:step = {
  IDLE, TAKE, TAKE_READ, TAKE_LINK, TAKE_SWAP, TAKE_REMOVE, CUT, CUT_STORE, TAKE_LEAVE,
  NEW_RUN, PUBLISH, PUSH_READ, PUSH_SWAP, OFFER, OFFER_READ, OFFER_INSERT, RECLAIM, RECLAIM_READ,
  ALL_FREE_SWAP, ALL_FREE_REMOVE, RETURN_PAGES
}

inline finish() {
  assert(lock != me);
  r = 0; b = 0; is_new = false; was_last = false; after = NONE;
  seen_holding = 0; seen_free = 0; seen_uncut = 0; seen_head = 0;
  busy--;
  todo = IDLE
}

inline leave_bin(r) { assert(run_[r].binned); run_[r].binned = false }
inline enter_bin(r) { assert(!run_[r].binned); run_[r].binned = true }

/* A block's way to the program begins. */
inline take_in_hand(r, b) {
  run_[r].listed = run_[r].listed & ~only(b);
  run_[r].hand = run_[r].hand | only(b);
  run_[r].next[b] = GARBAGE
}

/* … and ends. */
inline hand_out(r, b) {
  run_[r].hand = run_[r].hand & ~only(b);
  run_[r].live = run_[r].live | only(b)
}

/* -- malloc: a block of the bin's lowest run -- */

/* The bin may seem empty to a look without the lock, whether it is or not. */
inline step_take() {
  if
  :: true -> todo = NEW_RUN
  :: lock == NONE && lowest_in_bin < RUNS ->
     lock = me;
     r = lowest_in_bin;
     todo = TAKE_READ
  fi
}

inline step_take_read() {
  assert_there(r);
  load_word(r);
  run_[r].poppers++;
  todo = TAKE_LINK
}

/* What the word is to become. The link lies in the block; it is right if the swap succeeds, whatever it was now. */
inline step_take_link() {
  assert_there(r);
  assert(seen_holding == BINNED && seen_free > 0 && (seen_head != NONE || seen_uncut > 0));
  after = (seen_head != NONE -> run_[r].next[seen_head - 1] : NONE);
  was_last = (seen_free == 1);
#ifdef MUT_POP_UNLOCKED
  lock = (seen_head != NONE && !was_last -> NONE : me);
#endif
  todo = TAKE_SWAP
}

inline step_take_swap() {
  assert_there(r);
  if
#ifdef MUT_WORD_STORED
  :: true ->
#else
  :: unchanged(r) ->
#endif
     run_[r].poppers--;
     run_[r].free = seen_free - 1;
     run_[r].uncut = (seen_head != NONE -> seen_uncut : seen_uncut - 1);
     run_[r].head = after;
#ifndef MUT_LAST_STAYS_BINNED
     run_[r].holding = (was_last -> FULL : BINNED);
#endif
     if
     :: seen_head != NONE ->
        b = seen_head - 1;
        assert((run_[r].listed & only(b)) && !((run_[r].live | run_[r].hand) & only(b)));
        take_in_hand(r, b);
        todo = (was_last -> TAKE_REMOVE : TAKE_LEAVE)
     :: else ->
        run_[r].owed++;
        todo = (was_last -> TAKE_REMOVE : CUT)
     fi
#ifdef MUT_CUT_UNLOCKED
     ; lock = (was_last -> me : NONE)
#endif
#ifndef MUT_WORD_STORED
  :: true ->            /* a push came, or the swap failed without a reason */
     load_word(r);
     after = NONE;
#ifdef MUT_POP_UNLOCKED
     run_[r].poppers = run_[r].poppers - (lock != me);
     todo = (lock == me -> TAKE_LINK : TAKE)
#else
     todo = TAKE_LINK
#endif
#endif
  fi
}

/* That the block is ours keeps the pages; only the lock keeps others from cutting the same one. */
inline step_cut() {
  b = run_[r].carved;
  todo = CUT_STORE
}

inline step_cut_store() {
  assert(b < CAPACITY && !((run_[r].live | run_[r].hand | run_[r].listed) & only(b)));
  run_[r].carved = b + 1;
  run_[r].owed--;
  take_in_hand(r, b);
  todo = TAKE_LEAVE
}

inline step_take_leave() {
#if defined(MUT_POP_UNLOCKED) || defined(MUT_CUT_UNLOCKED)
  lock = (lock == me -> NONE : lock);
#else
  assert(lock == me);
  lock = NONE;
#endif
  hand_out(r, b);
  finish()
}

/* -- a new run, whose first block is cut before anyone knows of it -- */

inline step_new_run() {
  if
  :: !run_[0].pages -> r = 0; is_new = true
#if RUNS > 1
  :: !run_[1].pages -> r = 1; is_new = true
#endif
  :: else -> finish()   /* out of memory */
  fi;
  if
  :: is_new ->
     run_[r].pages = true;
     run_[r].carved = 1;
     take_in_hand(r, 0);
     todo = PUBLISH
  :: else
  fi
}

inline step_publish() {
  assert(run_[r].holding == OWNED && run_[r].hand == only(0));
  set_word(r, BINNED, CAPACITY - 1, CAPACITY - 1, NONE);
  run_[r].offerer = me;
  todo = OFFER
}

/* -- free: one block goes back, whoever allocated it -- */

inline step_free() {
  busy++;
  run_[r].live = run_[r].live & ~only(b);
  run_[r].hand = run_[r].hand | only(b);
  todo = PUSH_READ
}

/* Nobody else looks at the link before the swap. */
inline step_push_read() {
  assert_there(r);
  load_word(r);
  run_[r].next[b] = seen_head;
  todo = PUSH_SWAP
}

inline step_push_swap() {
  assert_there(r);
  assert(run_[r].holding != OWNED);
  if
  :: unchanged(r) ->
     run_[r].head = b + 1;
     run_[r].free++;
     run_[r].hand = run_[r].hand & ~only(b);
     run_[r].listed = run_[r].listed | only(b);
     if
     :: seen_holding == FULL ->
        assert(run_[r].free < CAPACITY);   /* a run of one block would be ours now */
        run_[r].holding = BINNED;
        run_[r].offerer = me;
        todo = OFFER
     :: seen_holding == BINNED && run_[r].free == CAPACITY -> todo = RECLAIM
     :: else -> finish()
     fi
  :: else ->            /* somebody changed the word */
     load_word(r);
     run_[r].next[b] = seen_head
  fi
}

/* -- offer: whoever made the run BINNED puts it into the bin; until then it is in nobody else's reach -- */

inline step_offer() {
  lock = me;
  todo = OFFER_READ
}

inline step_offer_read() {
  assert_there(r);
  assert(run_[r].offerer == me && !run_[r].binned);
  load_word(r);
  todo = (seen_all_free -> ALL_FREE_SWAP : OFFER_INSERT)
}

inline step_offer_insert() {
  assert_there(r);
  enter_bin(r);
  run_[r].offerer = NONE;
  lock = NONE;
  if
  :: is_new -> hand_out(r, 0)
  :: else
  fi;
  finish()
}

/* -- reclaim: whoever brought the last block of a BINNED run takes it out, if that is still to be done -- */

/* The header may be another run's by now. `binned` stands for binned_in being this bin. */
inline step_reclaim() {
  if
#ifdef MUT_RECLAIM_UNBINNED
  :: true ->
#else
  :: run_[r].binned ->
#endif
     lock = me;
     todo = RECLAIM_READ
  :: else -> finish()   /* not offered yet, returned, or recycled */
  fi
}

inline step_reclaim_read() {
  load_word(r);
  if
  :: seen_all_free -> todo = ALL_FREE_SWAP
  :: else ->            /* a block was taken: whoever frees that will see to the run */
     lock = NONE;
     finish()
  fi
}

#ifdef MUT_POP_UNLOCKED
#define pages_may_go(r)  (run_[r].poppers == 0)   /* so that the list is what goes wrong, not the pages */
#else
#define pages_may_go(r)  true
#endif

/* -- all of it is free: no block is out, so nobody can push, and the lock keeps the others out -- */

inline step_all_free_swap() {
  assert_there(r);
  assert(unchanged(r));
  assert(run_[r].offerer == NONE || run_[r].offerer == me);
  assert(!is_new && run_[r].poppers == 0);
  set_word(r, OWNED, 0, 0, NONE);
  run_[r].listed = 0;
  if
  :: run_[r].offerer == me ->
     run_[r].offerer = NONE;
     lock = NONE;
     todo = RETURN_PAGES
  :: else -> todo = ALL_FREE_REMOVE
  fi
}

inline step_all_free_remove() {
  leave_bin(r);
  lock = NONE;
  todo = RETURN_PAGES
}

/* The page heap may hand the pages out again at once, and the header with them. */
inline step_return_pages() {
  assert_there(r);
  assert(run_[r].holding == OWNED && run_[r].poppers == 0 && !run_[r].binned && run_[r].offerer == NONE);
  assert(run_[r].live == 0 && run_[r].hand == 0 && run_[r].owed == 0);
  run_[r].carved = 0;
  run_[r].next[0] = 0; run_[r].next[1] = 0; run_[r].next[CAPACITY - 1] = 0;
  run_[r].pages = false;
  finish()
}

/* ---- a thread: any program that frees only what it has ---- */

#define is_live(i, j)  (run_[i].live & only(j))

inline choose() {
  if
  :: mallocs > 0 -> mallocs--; busy++; todo = TAKE
  :: is_live(0, 0) -> r = 0; b = 0; step_free()
  :: is_live(0, 1) -> r = 0; b = 1; step_free()
#if CAPACITY > 2
  :: is_live(0, 2) -> r = 0; b = 2; step_free()
#endif
#if RUNS > 1
  :: is_live(1, 0) -> r = 1; b = 0; step_free()
  :: is_live(1, 1) -> r = 1; b = 1; step_free()
#if CAPACITY > 2
  :: is_live(1, 2) -> r = 1; b = 2; step_free()
#endif
#endif
  fi
}

#ifdef SHOW
/* One line a step, for reading a counterexample; sets of blocks are bit masks. */
inline print_run(i) {
  printf("thread %d did ", me);
  printm(done);
  printf(", then ");
  printm(todo);
  printf(": run %d: head %d free %d uncut %d state %d, binned %d offerer %d lock %d, ", i, run_[i].head, run_[i].free,
         run_[i].uncut, run_[i].holding, run_[i].binned, run_[i].offerer, lock);
  printf("carved %d live %d hand %d listed %d, r %d b %d\n", run_[i].carved, run_[i].live, run_[i].hand,
         run_[i].listed, r, b)
}
#endif

proctype Thread(byte me; byte mallocs) {
  mtype:step todo = IDLE;
#ifdef SHOW
  mtype:step done = IDLE;
#endif
  byte r, b;            /* run and block of the operation under way */
  bool is_new;          /* the operation is malloc, and makes the run */
  bool was_last;        /* the block that malloc is taking is the run's last free one */
  byte after;           /* the link of the list's first block */
  byte seen_holding, seen_free, seen_uncut, seen_head;   /* the word as read */
  byte at, count;       /* of check() */

  do
  :: atomic {
       if
       :: todo == IDLE && (mallocs > 0 || program_has_blocks) -> choose()
       :: todo == TAKE -> step_take()
       :: todo == TAKE_READ -> step_take_read()
       :: todo == TAKE_LINK -> step_take_link()
       :: todo == TAKE_SWAP -> step_take_swap()
       :: todo == TAKE_REMOVE ->
          leave_bin(r);
#ifdef MUT_CUT_UNLOCKED
          lock = NONE;
#endif
          todo = (seen_head != NONE -> TAKE_LEAVE : CUT)
       :: todo == CUT -> step_cut()
       :: todo == CUT_STORE -> step_cut_store()
       :: todo == TAKE_LEAVE -> step_take_leave()
       :: todo == NEW_RUN -> step_new_run()
       :: todo == PUBLISH -> step_publish()
       :: todo == PUSH_READ -> step_push_read()
       :: todo == PUSH_SWAP -> step_push_swap()
       :: todo == OFFER && lock == NONE -> step_offer()
       :: todo == OFFER_READ && pages_may_go(r) -> step_offer_read()
       :: todo == OFFER_INSERT -> step_offer_insert()
       :: todo == RECLAIM && lock == NONE -> step_reclaim()
       :: todo == RECLAIM_READ && pages_may_go(r) -> step_reclaim_read()
       :: todo == ALL_FREE_SWAP -> step_all_free_swap()
       :: todo == ALL_FREE_REMOVE -> step_all_free_remove()
       :: todo == RETURN_PAGES -> step_return_pages()
       fi;
#ifdef SHOW
       print_run(0);
#if RUNS > 1
       print_run(1);
#endif
       done = todo;
#endif
       check(0);
#if RUNS > 1
       check(1);
#endif
       if
       :: busy == 0 ->
          check_at_rest(0);
#if RUNS > 1
          check_at_rest(1)
#endif
       :: else
       fi
     }
  :: timeout && todo == IDLE -> break
  od
}

init {
  atomic {
    run Thread(1, MALLOCS_1);
    run Thread(2, MALLOCS_2);
    run Thread(3, MALLOCS_3)
  };
  _nr_pr == 1
}
