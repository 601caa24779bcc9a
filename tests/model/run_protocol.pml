/*
 * The protocol of run ownership and remote frees, for exhaustive checking with SPIN.
 * README.md next to this file says in words what is modelled, what is abstracted, and which bugs
 * (MUT_*, switched on with -D by run.py) the model has to find.
 *
 * A thread is a table of steps; `todo` names its next one. A step is indivisible, so it may touch at most
 * one thing that others can change or see at that moment: the remote word, a racy field, or a lock. It may
 * do more only with what nobody else can observe: fields of a run that it holds, and what a bin's lock
 * protects between taking and leaving it.
 */

/* ---- the shape of a configuration; run.py sets these with -D ---- */

#ifndef RUNS
#define RUNS 1          /* run headers: 1 or 2 */
#endif
#ifndef CLASSES
#define CLASSES 1       /* size classes, each with one bin: 1 or 2 */
#endif
#ifndef CAPACITY_0
#define CAPACITY_0 2    /* blocks in a run of class 0: 1 to 4 */
#endif
#ifndef THRESHOLD_0
#define THRESHOLD_0 1   /* free blocks from which a run is worth offering in the bin */
#endif
#ifndef CAPACITY_1
#define CAPACITY_1 CAPACITY_0
#endif
#ifndef THRESHOLD_1
#define THRESHOLD_1 THRESHOLD_0
#endif
#ifndef MALLOCS_1
#define MALLOCS_1 2     /* how often thread 1 may call malloc; every thread frees whatever it likes */
#endif
#ifndef MALLOCS_2
#define MALLOCS_2 1
#endif
/* LOCAL_IN_WORD selects the form of the remote word, see load_word. MALLOCS_3, if defined, adds a third
 * thread. PREFILLED starts with run 0 full and unowned, all its blocks with the program: a deep state for
 * little work. SHOW prints each step in a replay. */

#define BLOCKS      4
#define NONE        0
#define PAGE_HEAP   9   /* value of `holder` while the page heap has the run */
#define NO_CLASS    9

/* states of the remote word */
#define OWNED       0
#define FULL        1
#define BINNED      2

#define capacity_of(class)  ((class) == 0 -> CAPACITY_0 : CAPACITY_1)
#define threshold_of(class) ((class) == 0 -> THRESHOLD_0 : THRESHOLD_1)

/* sets of blocks or runs */
#define only(i)   (1 << (i))
#define ones(m)   (((m) & 1) + (((m) >> 1) & 1) + (((m) >> 2) & 1) + (((m) >> 3) & 1))
#define lowest(m) (((m) & 1) -> 0 : (((m) & 2) -> 1 : (((m) & 4) -> 2 : 3)))

/* ---- the run header, with its ghosts ---- */

typedef Run {
  /* The remote word: one 64-bit atomic. */
  byte head;            /* first block of the remote list, as block + 1, or NONE */
  byte count;           /* OWNED: blocks in the remote list; otherwise all free blocks of the run */
  byte state;
#ifdef LOCAL_IN_WORD
  byte local_count;     /* OWNED: 0; otherwise the free blocks that are not on the remote list */
#endif

  byte owner;           /* atomic; the thread whose frees are plain, or NONE */

  /* plain fields, written by the exclusive holder alone */
  byte class;           /* stands for capacity, threshold and bin */
  byte used;
  byte deferred;        /* a set of blocks */
  byte uncarved;

  byte binned_in;       /* bin + 1, or NONE; written under that bin's lock */

  byte next[BLOCKS];    /* the links of the remote list; really inside the blocks */

  /* Ghosts: where the other blocks are, and who may touch the plain fields. */
  byte remote;          /* the blocks that the remote list should contain */
  byte user;            /* blocks that the program has; any thread may free any of them */
  byte private;         /* blocks in the private list of the holder, whose current run this is */
  byte holder;          /* the thread with exclusive hold, NONE, or PAGE_HEAP */
}

Run run_[RUNS];

byte bin[CLASSES];      /* a set of runs */
byte lock[CLASSES];     /* the thread inside, or NONE */

/* Each thread's outbox, reduced to one group: blocks of one run. */
byte out[4];
byte out_run[4];

#define local_free(r)    (capacity_of(run_[r].class) - run_[r].used)
#define outbox_of(t, r)  (out_run[t] == (r) -> out[t] : 0)
#define outboxes(r)      (outbox_of(1, r) | outbox_of(2, r) | outbox_of(3, r))

/*
 * Compare-and-swap, of two forms of the word.
 *
 * Tagged: the word has a tag that changes with it. If tags never repeat, compare-and-swap succeeds exactly
 * if nobody changed the word since it was read. So the model keeps no tag; it notes for each thread the run
 * (+ 1) whose word it has read and nobody has changed since. That is exact, with far fewer states than any
 * counter.
 *
 * LOCAL_IN_WORD (what src/slab/word.h does): no tag, but the word also says how many free blocks are not
 * on the remote list. Compare-and-swap compares values, and so succeeds after any number of changes that
 * end in the same value.
 */
#ifdef LOCAL_IN_WORD
#define word_local(r)  run_[r].local_count
#define set_local(n)   run_[r].local_count = n
#define load_word(r)   seen_head = run_[r].head; seen_count = run_[r].count; seen_state = run_[r].state; \
                       seen_local = run_[r].local_count
#define unchanged(r)   (seen_head == run_[r].head && seen_count == run_[r].count \
                        && seen_state == run_[r].state && seen_local == run_[r].local_count)
#define forget_word    seen_head = 0; seen_count = 0; seen_state = 0; seen_local = 0
#else
#define word_local(r)  local_free(r)
#define set_local(n)   skip
#endif

byte link[4];

#define drop_link(t, r)  link[t] = (link[t] == (r) + 1 -> 0 : link[t])

inline word_changed(r) { drop_link(1, r); drop_link(2, r); drop_link(3, r) }

#ifdef MUT_NO_TAG
#define load_word(r)   seen_head = run_[r].head; seen_count = run_[r].count; seen_state = run_[r].state
#define unchanged(r)   (seen_head == run_[r].head && seen_count == run_[r].count \
                        && seen_state == run_[r].state)
#define forget_word    seen_head = 0; seen_count = 0; seen_state = 0
#endif

#ifndef load_word
#define load_word(r)   link[me] = (r) + 1
#define unchanged(r)   (link[me] == (r) + 1)
#define forget_word    link[me] = 0
#endif

/* ---- invariants ---- */

#define assert_held(r)  assert(run_[r].holder == me)

/* What the compare-and-swap of a new holder makes of the word: count is for the remote list alone again. */
inline own_word(r) {
  run_[r].count = run_[r].count - word_local(r);
  set_local(0);
  run_[r].state = OWNED;
  word_changed(r)
}

inline gain_hold(r) { assert(run_[r].holder == NONE); run_[r].holder = me }

/* What must hold of every run after every step. */
inline check(r) {
  if
  :: run_[r].holder == PAGE_HEAP ->
     /* nobody touches a run that has been returned */
     assert(run_[r].class == NO_CLASS && run_[r].owner == NONE && run_[r].binned_in == NONE);
     assert(run_[r].state == OWNED && run_[r].count == 0 && run_[r].head == NONE)
  :: else ->
     /* each block is in one place: none is lost, none has two users */
     assert(ones(run_[r].user) + ones(run_[r].private) + ones(run_[r].deferred) + ones(run_[r].remote)
            + ones(outbox_of(1, r)) + ones(outbox_of(2, r)) + ones(outbox_of(3, r)) + run_[r].uncarved
            == capacity_of(run_[r].class));
     assert((run_[r].user | run_[r].private | run_[r].deferred | run_[r].remote | outboxes(r))
            == only(capacity_of(run_[r].class) - run_[r].uncarved) - 1);
     /* the counts are exact */
     assert(local_free(r) == ones(run_[r].deferred) + run_[r].uncarved);
     assert(run_[r].count == ones(run_[r].remote) + (run_[r].state == OWNED -> 0 : local_free(r)));
#ifdef LOCAL_IN_WORD
     assert(run_[r].local_count == (run_[r].state == OWNED -> 0 : local_free(r)));
#endif
     assert(run_[r].state != FULL || run_[r].count < threshold_of(run_[r].class));
     assert(run_[r].state != BINNED || run_[r].count >= threshold_of(run_[r].class));
     /* a run is held exactly in state OWNED, and its owner is the holder */
     assert((run_[r].state == OWNED) == (run_[r].holder != NONE));
#ifdef MUT_OWNER_CLEARED_AFTER
     assert(run_[r].owner == NONE || run_[r].owner == run_[r].holder || run_[r].holder == NONE);
#else
     assert(run_[r].owner == NONE || run_[r].owner == run_[r].holder);
#endif
     /* binned_in says in which bin the run is; only offered runs are in one */
     assert(run_[r].binned_in == NONE || (run_[r].state == BINNED && run_[r].binned_in == run_[r].class + 1));
     assert((run_[r].binned_in == 1) == ((bin[0] & only(r)) != 0));
     assert((run_[r].binned_in == CLASSES) == ((bin[CLASSES - 1] & only(r)) != 0))
  fi
}

/* What else must hold when all threads have ended, though the program may have kept blocks. */
inline check_at_rest(r) {
  if
  :: run_[r].holder == PAGE_HEAP
  :: else ->
     assert(run_[r].state != OWNED);
     /* all free runs have been returned */
     assert(run_[r].user != 0);
     /* an offered run can be taken */
     assert((run_[r].state == BINNED) == (run_[r].binned_in != NONE))
  fi
}

/* ---- steps ---- */

mtype:step = {
  IDLE, MALLOC, ACQUIRE, TAKE_READ, TAKE_SWAP, TAKE_PUBLISH, NEW_RUN, COLLECT,
  RELEASE, RELEASE_SWAP, OFFER, OFFER_INSERT,
  FLUSH, ADOPT_READ, ADOPT_SWAP, ADOPT_PUBLISH, PUSH, RECLAIM, RETURN_PAGES,
  /* of mutations only */
  OWNER_CLEAR, FLUSH_WORD, ADOPT_COUNT, RECLAIM_READ
}

/* The operation is over; if it was a release that malloc asked for, malloc goes on. */
inline finish() {
  r = 0; b = 0; decided_free = 0; total = 0;
  forget_word;
  c = (asked != 0 -> asked - 1 : 0);
  todo = (asked != 0 -> MALLOC : IDLE)
}

/* -- malloc of class c -- */

#define own_idle_run(i)  (run_[i].owner == me && run_[i].class == c && current[c] != (i) + 1)

inline step_malloc() {
  r = (current[c] != 0 -> current[c] - 1 : 0);
  if
  :: current[c] == 0 ->
     /* our own lowest idle run, else the bin's, else a new one */
     if
     :: own_idle_run(0) -> current[c] = 1
#if RUNS > 1
     :: !own_idle_run(0) && own_idle_run(1) -> current[c] = 2
#endif
     :: else -> todo = ACQUIRE
     fi
  :: current[c] != 0 && run_[r].private != 0 ->
     assert_held(r);
     b = lowest(run_[r].private);
     run_[r].private = run_[r].private & ~only(b);
     run_[r].user = run_[r].user | only(b);
     asked = 0;
     finish()
  :: current[c] != 0 && run_[r].private == 0 ->
     assert_held(r);
     /* In which order, and how many blocks make it worth while, is policy: any choice must be right. */
     if
     :: run_[r].deferred != 0 ->
        run_[r].used = run_[r].used + ones(run_[r].deferred);
        run_[r].private = run_[r].deferred;
        run_[r].deferred = 0
     :: run_[r].uncarved > 0 ->
        run_[r].private = only(capacity_of(c) - run_[r].uncarved);
        run_[r].uncarved--;
        run_[r].used++
     :: run_[r].count > 0 ->
        load_word(r);
        todo = COLLECT
     :: run_[r].deferred == 0 && run_[r].uncarved == 0 -> todo = RELEASE
     fi
  fi
}

inline step_collect() {
  if
  :: unchanged(r) ->
     /* Walk the list as the program would, and see that it is what was pushed. */
     do
     :: run_[r].head != NONE ->
        b = run_[r].head - 1;
        assert(run_[r].remote & only(b));
        run_[r].remote = run_[r].remote & ~only(b);
        run_[r].private = run_[r].private | only(b);
        run_[r].head = run_[r].next[b];
        run_[r].next[b] = NONE
#ifdef MUT_COLLECT_CHANGES_USED
        ; run_[r].used--
#endif
     :: else -> break
     od;
     assert(run_[r].remote == 0);
     run_[r].count = 0;
     word_changed(r)
  :: else   /* a push came: look again */
  fi;
  b = 0;
  forget_word;
  todo = MALLOC
}

/* Needs the lock of bin c. The list of the bin, and with it binned_in, is only touched inside. */
inline step_acquire() {
  if
  :: bin[c] != 0 ->
     lock[c] = me;
     r = lowest(bin[c]);
     bin[c] = bin[c] & ~only(r);
     run_[r].binned_in = NONE;
     todo = TAKE_READ
  :: else -> todo = NEW_RUN   /* the lock is taken and left within this step */
  fi
}

inline step_take_swap() {
  if
  :: unchanged(r) ->
     gain_hold(r);
     own_word(r);
     todo = TAKE_PUBLISH
  :: else -> todo = TAKE_READ   /* a push came */
  fi;
  forget_word
}

inline step_take_publish() {
  run_[r].owner = me;
  current[c] = r + 1;
  lock[c] = NONE;
  todo = MALLOC
}

inline step_new_run() {
  if
  :: run_[0].holder == PAGE_HEAP -> r = 0
#if RUNS > 1
  :: run_[1].holder == PAGE_HEAP -> r = 1
#endif
  :: else -> asked = 0   /* out of memory */
  fi;
  if
  :: asked != 0 ->
     run_[r].holder = me;
     run_[r].class = c;
     run_[r].uncarved = capacity_of(c);
     run_[r].owner = me;
     current[c] = r + 1;
     todo = MALLOC
  :: else -> finish()
  fi
}

/* -- release: the owner gives up run r, its current run or another -- */

inline step_release() {
  assert_held(r);
  c = run_[r].class;
  current[c] = (current[c] == r + 1 -> 0 : current[c]);
  /* the private list goes back to the run */
  run_[r].used = run_[r].used - ones(run_[r].private);
  run_[r].deferred = run_[r].deferred | run_[r].private;
  run_[r].private = 0;
  load_word(r);
  if
  :: local_free(r) + run_[r].count == capacity_of(c) ->
     /* Nothing is out, so nobody can push: we just keep the hold. */
     run_[r].owner = NONE;
     forget_word;
     todo = RETURN_PAGES
  :: else ->
#ifndef MUT_OWNER_CLEARED_AFTER
     run_[r].owner = NONE;
#endif
     decided_free = local_free(r);
#ifdef MUT_RELEASE_BY_STORE
     old_head = run_[r].head; old_count = run_[r].count;
#endif
     todo = RELEASE_SWAP
  fi
}

inline step_release_swap() {
  assert_held(r);
#ifdef MUT_RELEASE_BY_STORE
  run_[r].head = old_head; run_[r].count = old_count;
  old_head = 0; old_count = 0;
  load_word(r);
#endif
  if
  :: unchanged(r) ->
     run_[r].count = run_[r].count + decided_free;
     set_local(decided_free);
     run_[r].state = (run_[r].count >= threshold_of(c) -> BINNED : FULL);
     run_[r].holder = NONE;
     word_changed(r);
     if
#ifdef MUT_OWNER_CLEARED_AFTER
     :: true -> todo = OWNER_CLEAR; binned = (run_[r].state == BINNED)
#else
     :: run_[r].state == BINNED -> todo = OFFER
     :: run_[r].state == FULL -> finish()
#endif
     fi
  :: else -> todo = RELEASE   /* a push came: decide again */
  fi;
  decided_free = 0;
  forget_word
}

/* -- offer: whoever made run r BINNED puts it into bin c; until he has, nobody can take or return it -- */

/* One compare-and-swap takes a run that is totally free: OWNED, but without an owner. */
inline take_all_free() {
  gain_hold(r);
  own_word(r);
  todo = RETURN_PAGES
}

/* Needs the lock, and keeps it if the run is to be inserted. */
inline step_offer() {
  assert(run_[r].holder == NONE && run_[r].binned_in == NONE);
  if
#ifndef MUT_OFFER_WITHOUT_RECHECK
  :: run_[r].count == capacity_of(c) -> take_all_free()   /* its last pusher left it to us */
#endif
  :: else ->
     lock[c] = me;
     todo = OFFER_INSERT
  fi
}

inline step_offer_insert() {
  run_[r].binned_in = c + 1;
  bin[c] = bin[c] | only(r);
  lock[c] = NONE;
  finish()
}

/* -- free -- */

#define may_free(i, j)  ((run_[i].user & only(j)) \
                         && (run_[i].owner == me || out[me] == 0 || (alive && out_run[me] == i)))

/* The owner frees plainly; everyone else fills his outbox. The load of `owner` needs no step of its own:
 * whether it is me is up to me alone. */
inline step_free() {
  run_[r].user = run_[r].user & ~only(b);
  if
  :: run_[r].owner == me ->
     assert_held(r);
     run_[r].deferred = run_[r].deferred | only(b);
     run_[r].used--;
     if
     :: run_[r].used == 0 && current[run_[r].class] != r + 1 ->
        run_[r].owner = NONE;
        todo = RETURN_PAGES
     :: else -> finish()
     fi
  :: else ->
     out_run[me] = r;
     out[me] = out[me] | only(b);
     finish()
  fi
}

/* -- flush: hands the outbox's group to its run with one compare-and-swap -- */

#ifdef MUT_DEAD_THREAD_ADOPTS
#define may_adopt true
#else
#define may_adopt alive
#endif

/* Our blocks pin the run until the push; so here, and not later, its class is to be read. */
inline step_flush() {
  r = out_run[me];
  assert(run_[r].holder != PAGE_HEAP);
  c = run_[r].class;
  total = capacity_of(c);
#ifdef MUT_USED_READ_BEFORE_WORD
  decided_free = local_free(r);
  todo = FLUSH_WORD
#else
  load_word(r);
  choose_push_or_adopt()
#endif
}

#if defined(LOCAL_IN_WORD) || defined(MUT_USED_READ_BEFORE_WORD)
#define FIRST_OF_ADOPT ADOPT_SWAP
#else
#define FIRST_OF_ADOPT ADOPT_READ
#define FIRST_OF_ADOPT_IS_READ 1
#endif

/* Only a run's last owner adopts it, but nothing rests on that: here any thread may, or push. */
inline choose_push_or_adopt() {
  if
  :: may_adopt && run_[r].state == FULL -> todo = FIRST_OF_ADOPT
  :: true -> todo = PUSH
  fi
}

/* Tagged word only: a read that races with a new holder; if there is one, the compare-and-swap fails. */
inline step_adopt_read() {
  decided_free = local_free(r);
  todo = ADOPT_SWAP
}

inline step_adopt_swap() {
  if
  :: unchanged(r) ->
     gain_hold(r);
#if defined(MUT_USED_READ_AFTER_CAS)
     run_[r].state = OWNED;
     word_changed(r);
     todo = ADOPT_COUNT
#elif defined(LOCAL_IN_WORD)
     own_word(r);
     todo = ADOPT_PUBLISH
#else
     run_[r].count = run_[r].count - decided_free;
     run_[r].state = OWNED;
     word_changed(r);
     todo = ADOPT_PUBLISH
#endif
  :: else -> todo = FLUSH   /* somebody changed the word: decide again */
  fi;
  decided_free = 0;
  forget_word
}

inline step_adopt_publish() {
  assert_held(r);
  run_[r].owner = me;
  run_[r].deferred = run_[r].deferred | out[me];
  run_[r].used = run_[r].used - ones(out[me]);
  out[me] = 0; out_run[me] = 0;
  if
  :: run_[r].used == 0 -> run_[r].owner = NONE; todo = RETURN_PAGES
  :: else -> finish()
  fi
}

#ifdef MUT_BIN_READ_AFTER_CAS
#define AFTER_LAST_PUSH RECLAIM_READ
#else
#define AFTER_LAST_PUSH RECLAIM
#endif

inline step_push() {
  if
  :: unchanged(r) ->
     assert(run_[r].class == c);
     /* the group in front of the list */
     do
     :: out[me] != 0 ->
        b = lowest(out[me]);
        out[me] = out[me] & ~only(b);
        run_[r].next[b] = run_[r].head;
        run_[r].head = b + 1;
        run_[r].remote = run_[r].remote | only(b);
        run_[r].count++
     :: else -> break
     od;
     out_run[me] = 0;
     word_changed(r);
     if
     :: run_[r].state == OWNED -> finish()
     :: run_[r].state == FULL && run_[r].count == total ->
        gain_hold(r);
        own_word(r);
        todo = RETURN_PAGES
     :: run_[r].state == FULL && run_[r].count >= threshold_of(c) && run_[r].count < total ->
        run_[r].state = BINNED;
        todo = OFFER
     :: run_[r].state == FULL && run_[r].count < threshold_of(c) -> finish()
#ifdef MUT_CAPACITY_READ_AFTER_CAS
     :: run_[r].state == BINNED -> todo = RECLAIM_READ
#else
     :: run_[r].state == BINNED && run_[r].count == total -> todo = AFTER_LAST_PUSH
     :: run_[r].state == BINNED && run_[r].count < total -> finish()
#endif
     fi
  :: else -> todo = FLUSH   /* somebody changed the word: decide again */
  fi;
  b = 0;
  forget_word
}

/* The pusher of the last block of a BINNED run, under the lock of bin c: takes the run out and returns it,
 * unless it has changed hands since. c and total are bin and capacity as read before the push. */
inline step_reclaim() {
  if
#ifdef MUT_RECLAIM_UNBINNED
  :: run_[r].state == BINNED && run_[r].count == total ->
#else
  :: run_[r].binned_in == c + 1 && run_[r].state == BINNED && run_[r].count == total ->
#endif
     bin[c] = bin[c] & ~only(r);
     run_[r].binned_in = NONE;
     take_all_free();
#ifdef MUT_RETURN_UNDER_LOCK
     lock[c] = me
#endif
  :: else -> finish()   /* not offered yet, taken, returned or recycled: not ours to handle */
  fi
}

/* -- the exclusive holder returns the pages; the page heap may hand them out again at once -- */

inline step_return_pages() {
  assert_held(r);
  assert(run_[r].owner == NONE && run_[r].binned_in == NONE);
  assert(run_[r].user == 0 && run_[r].private == 0 && outboxes(r) == 0);
  assert(lock[0] != me && lock[CLASSES - 1] != me);
  /* Nobody is between reading the word and swapping it, so the tag need not outlive the run. */
  assert(link[1] != r + 1 && link[2] != r + 1 && link[3] != r + 1);
  run_[r].head = NONE; run_[r].count = 0;
  run_[r].used = 0; run_[r].deferred = 0; run_[r].uncarved = 0;
  run_[r].remote = 0;
  run_[r].next[0] = 0; run_[r].next[1] = 0; run_[r].next[2] = 0; run_[r].next[3] = 0;
  run_[r].class = NO_CLASS;
  run_[r].holder = PAGE_HEAP;
  finish()
}

/* ---- a thread: any program that frees only what it has ---- */

/* What an idle thread does next, always a free choice. */
inline choose() {
  if
  :: alive && mallocs > 0 ->
     mallocs--;
     if
     :: c = 0
#if CLASSES > 1
     :: c = 1
#endif
     fi;
     asked = c + 1;
     todo = MALLOC

  :: may_free(0, 0) -> r = 0; b = 0; step_free()
#if CAPACITY_0 > 1 || CAPACITY_1 > 1
  :: may_free(0, 1) -> r = 0; b = 1; step_free()
#endif
#if CAPACITY_0 > 2 || CAPACITY_1 > 2
  :: may_free(0, 2) -> r = 0; b = 2; step_free()
#endif
#if CAPACITY_0 > 3 || CAPACITY_1 > 3
  :: may_free(0, 3) -> r = 0; b = 3; step_free()
#endif
#if RUNS > 1
  :: may_free(1, 0) -> r = 1; b = 0; step_free()
  :: may_free(1, 1) -> r = 1; b = 1; step_free()
#if CAPACITY_0 > 2 || CAPACITY_1 > 2
  :: may_free(1, 2) -> r = 1; b = 2; step_free()
#endif
#endif

  :: out[me] != 0 -> todo = FLUSH

  /* eviction, and what a thread does with each of its runs before it ends */
  :: alive && run_[0].owner == me -> r = 0; todo = RELEASE
#if RUNS > 1
  :: alive && run_[1].owner == me -> r = 1; todo = RELEASE
#endif

  /* The thread's heap goes when it owns nothing and has nothing for others; late frees may follow. */
  :: alive && out[me] == 0 && run_[0].owner != me && run_[RUNS - 1].owner != me ->
     alive = false;
     mallocs = 0

  /* The thread is gone, though the program may have kept blocks. */
  :: !alive && out[me] == 0 -> break
  fi
}

#ifdef SHOW
/* One line a step, for reading a counterexample; sets of blocks are bit masks. */
inline print_run(i) {
  printf("thread %d did ", me);
  printm(done);
  printf(", then ");
  printm(todo);
  printf(": run %d: head %d count %d state %d, owner %d holder %d, used %d uncarved %d, ", i, run_[i].head,
         run_[i].count, run_[i].state, run_[i].owner, run_[i].holder, run_[i].used, run_[i].uncarved);
  printf("deferred %d remote %d private %d user %d, own outbox %d, binned_in %d\n", run_[i].deferred,
         run_[i].remote, run_[i].private, run_[i].user, out[me], run_[i].binned_in)
}
#endif

proctype Thread(byte me; byte mallocs) {
  byte current[CLASSES];    /* run + 1, or 0 */
  bool alive = true;        /* false once the thread's heap is gone */
  mtype:step todo = IDLE;
#ifdef SHOW
  mtype:step done;
#endif
  byte asked;               /* class + 1 while malloc is under way */
  byte r, c, b;             /* run, class or bin, block of the operation under way */
  byte total;               /* capacity of r as read before a push */
  byte decided_free;        /* local_free as read before a compare-and-swap */
#if defined(LOCAL_IN_WORD) || defined(MUT_NO_TAG)
  byte seen_head, seen_count, seen_state, seen_local;   /* the word as read */
#endif
#ifdef MUT_RELEASE_BY_STORE
  byte old_head, old_count; /* of the word, as read */
#endif
#ifdef MUT_OWNER_CLEARED_AFTER
  bool binned;
#endif

  do
  :: atomic {
#ifdef SHOW
       done = todo;
#endif
       if
       :: todo == IDLE -> choose()
       :: todo == MALLOC -> step_malloc()
       :: todo == ACQUIRE && lock[c] == NONE -> step_acquire()
       :: todo == TAKE_READ -> load_word(r); todo = TAKE_SWAP
       :: todo == TAKE_SWAP -> step_take_swap()
       :: todo == TAKE_PUBLISH -> step_take_publish()
       :: todo == NEW_RUN -> step_new_run()
       :: todo == COLLECT -> step_collect()
       :: todo == RELEASE -> step_release()
       :: todo == RELEASE_SWAP -> step_release_swap()
       :: todo == OFFER && lock[c] == NONE -> step_offer()
       :: todo == OFFER_INSERT -> step_offer_insert()
       :: todo == FLUSH -> step_flush()
#if FIRST_OF_ADOPT_IS_READ
       :: todo == ADOPT_READ -> step_adopt_read()
#endif
       :: todo == ADOPT_SWAP -> step_adopt_swap()
       :: todo == ADOPT_PUBLISH -> step_adopt_publish()
       :: todo == PUSH -> step_push()
       :: todo == RECLAIM && lock[c] == NONE -> step_reclaim()
       :: todo == RETURN_PAGES -> step_return_pages()
#ifdef MUT_OWNER_CLEARED_AFTER
       :: todo == OWNER_CLEAR ->
          run_[r].owner = NONE;
          if
          :: binned -> todo = OFFER; binned = false
          :: else -> finish()
          fi
#endif
#ifdef MUT_USED_READ_BEFORE_WORD
       :: todo == FLUSH_WORD ->
          load_word(r);
          choose_push_or_adopt()
#endif
#ifdef MUT_USED_READ_AFTER_CAS
       :: todo == ADOPT_COUNT ->
          run_[r].count = run_[r].count - local_free(r);
          word_changed(r);
          todo = ADOPT_PUBLISH
#endif
#ifdef MUT_BIN_READ_AFTER_CAS
       :: todo == RECLAIM_READ ->
          c = run_[r].class;
          assert(c != NO_CLASS);
          todo = RECLAIM
#endif
#ifdef MUT_CAPACITY_READ_AFTER_CAS
       :: todo == RECLAIM_READ -> total = capacity_of(run_[r].class); todo = RECLAIM
#endif
       fi;
#ifdef SHOW
       print_run(0);
#if RUNS > 1
       print_run(1);
#endif
#endif
       check(0);
#if RUNS > 1
       check(1)
#endif
     }
  od
}

init {
  atomic {
    run_[0].class = NO_CLASS; run_[0].holder = PAGE_HEAP;
#if RUNS > 1
    run_[1].class = NO_CLASS; run_[1].holder = PAGE_HEAP;
#endif
#ifdef PREFILLED
    run_[0].class = 0; run_[0].holder = NONE; run_[0].state = FULL;
    run_[0].used = CAPACITY_0; run_[0].user = only(CAPACITY_0) - 1;
#endif
    run Thread(1, MALLOCS_1);
    run Thread(2, MALLOCS_2);
#ifdef MALLOCS_3
    run Thread(3, MALLOCS_3)
#endif
  };
  _nr_pr == 1;
  atomic {
    assert(lock[0] == NONE && lock[CLASSES - 1] == NONE);
    check_at_rest(0);
#if RUNS > 1
    check_at_rest(1)
#endif
  }
}
