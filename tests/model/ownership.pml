/*
 * The ownership protocol of slab runs (src/slab/slab.h), for exhaustive checking with SPIN: threads that do whatever a
 * program may. README.md says what is abstracted. run.pml has the header and the invariants, changes.pml the changes of
 * state and the bugs to be planted.
 */

#include "run.pml"
#include "changes.pml"

/* ---- malloc ---- */

#define has_room  (current && (OWN_RUNS || carved == 0) && (deferred != 0 || carved < capacity_of(class) || free != 0))

/* A block of the current run. Which is taken first, and when remote blocks are collected, is policy. */
inline malloc_from_current() {
  if
  :: deferred != 0 || carved < capacity_of(class) ->
     take_local_block();
     used++;
     mallocs--;
     hand_out();
     b = 0
  :: deferred == 0 && free != 0 ->
     do
     :: head == 0 -> break
     :: else ->
        b = head;
        head = next[b];
        assert(place[b] == REMOTE);
        push_deferred();
        used--;
        free--
     od;
     assert(free == 0);
     b = 0
  fi
}

#define may_take(bin)  (lock[bin] == NONE && binned_in == bin + 1)

inline begin_take(bin) {
  c = bin;
  lock[c] = (bug(TAKE_UNLOCKED) || bug(TAKE_BLOCK_UNLOCKED) -> NONE : me);
  if
  :: OWN_RUNS && (!is_shared(state) || bug(TAKE_SHARED_AS_OWNER)) -> todo = TAKE_SWAP
  :: (TAKE_BLOCKS || is_shared(state)) && !bug(TAKE_SHARED_AS_OWNER) -> mallocs--; todo = TAKE_BLOCK
  fi
}

#define may_purge  (purges > 0 && binned_in != NONE && lock[binned_in - 1] == NONE)

/* ---- free ---- */

inline begin_free(block) {
  b = block;
  place[b] = HELD;
  hand = bit(b);
  if
  :: current ->       /* nobody else uses this run's plain fields */
     hand = 0;
     push_deferred();
     used--;
     todo = IDLE
  :: else -> todo = FREE
  fi
}

/* The owner defers, the last owner adopts, another thread does when the last owner has ended, others give back. */
inline step_free() {
  assert(a_run);
  if
  :: owner == me -> late++; todo = DEFER
  :: owner != me && (last_owner == me || (ended & bit(last_owner)) != 0) && OWN_RUNS && (alive || bug(ADOPT_WITHOUT_HEAP)) &&
     (shared_from == NONE || !bug(ADOPT_BESIDE_SHARE)) -> todo = ADOPT
  :: else -> todo = give_back_or_wait
  fi
}

/* slab::defer(): reads the list's head, stores it, counts. Meanwhile the run may become shared. */
inline step_defer() {
  link = deferred;
  todo = (bug(DEFER_COUNTS_FIRST) -> DEFER_COUNT : DEFER_STORE)
}

inline step_defer_store() {
  assert(a_run);
  next[b] = link;
  deferred = b;
  place[b] = DEFERRED;
  hand = 0;
  todo = (bug(DEFER_COUNTS_FIRST) -> EVENT : DEFER_COUNT)
}

inline step_defer_count() {
  assert(a_run);
  used--;
  late--;
  if
  :: hand != 0 && bug(DEFER_COUNTS_FIRST) -> todo = DEFER_STORE
  :: hand == 0 && used == 0 -> todo = EVENT
  :: else -> todo = IDLE
  fi
}

/* All blocks are free, as the count said: a reclaiming thread may have the run by now. A thread without a heap owns no run: this
 * one is of a thread that a fork left behind. */
inline step_event() {
  enter_lists(me);
  if
  :: !alive -> owner = (owner == me -> NONE : owner); todo = IDLE
  :: alive && (owner == me || bug(EVENT_OF_A_LOST_RUN)) ->
     assert(kept_by == me && used == 0);
     if
     :: kept_by = NONE; todo = FREE_PAGES
     :: todo = IDLE
     fi
  :: alive && owner != me && !bug(EVENT_OF_A_LOST_RUN) -> todo = IDLE
  fi
}

/* ---- upkeep, and reclaim from idle threads ---- */

inline begin_flush(whose) {
  enter_lists(whose);
  hand = out[whose];
  out[whose] = 0;
  todo = GIVE_BACK
}

inline begin_release() {
  enter_lists(me);
  current = false;
  kept_by = NONE;
  todo = RELEASE
}

#define may_empty(t)  (looks > 0 && t != me && lists[t] == NONE && (out[t] != 0 || kept_by == t || shared_from == t))

inline begin_emptying(whose) {
  looks--;
  enter_lists(whose);
  todo = EMPTY
}

inline step_emptying() {
  if
  :: out[at] != 0 -> begin_flush(at)
  :: kept_by == at -> link = used; todo = LOOK
  :: shared_from == at && is_free_but_for_hostage -> todo = UNSHARE
  :: shared_from == at && !is_free_but_for_hostage -> todo = IDLE
  fi
}

/* ---- the end of a thread; frees may follow ---- */

#define may_end  (alive && lists[me] == NONE && (out[me] == 0 || bug(END_KEEPS_OUTBOX)) \
                  && (!(current || kept_by == me) || bug(END_KEEPS_RUN)) \
                  && (shared_from != me || bug(END_KEEPS_SHARED_RUN)))

inline end_heap() {
  alive = false;
  ended = ended | bit(me);
  current = false;
  mallocs = 0;
  looks = 0
}

/* ---- fork: the child goes on with this thread, and with what the others have left ---- */

#define at_home(t)  (lists[t] == NONE || lists[t] == t)
#define may_fork  (forks > 0 && ((lock[0] == NONE && lock[CLASSES - 1] == NONE) || bug(FORK_WITHOUT_BIN_LOCK)) \
                   && ((at_home(1) && at_home(2) && at_home(THREADS)) || bug(FORK_BESIDE_EMPTYING)))

inline fork() {
  forks = 0;
  in_child = true;
  vanishing = everybody - bit(me);
  lost = a_run && ((state == OWNED && holder != me) || (is_binned(state) && binned_in == NONE));
  kept_by = (kept_by == me -> me : NONE);
  shared_from = (shared_from == me -> me : NONE);
  late = 0;
  lock[0] = NONE; lock[CLASSES - 1] = NONE
}

/* The other threads have no heap in the child, and are in no function of it. */
inline vanish() {
  vanishing = vanishing - bit(me);
  ended = ended | bit(me);
  lists[me] = NONE;
  out[me] = 0;
  is_new = true;
  alive = false; current = false;
  hand = 0; at = NONE;
  todo = IDLE
}

/* A new thread, with the token of one that vanished. What that owned must not be taken for its own. */
inline begin_heap() {
  is_new = false;
  alive = true;
  ended = ended & (everybody - bit(me));
  owner = (owner == me && !bug(FORK_WITHOUT_DISOWN) -> NONE : owner)
}

#ifdef SHOW
/* One line a step, for reading a counterexample. */
inline print() {
  printf("thread %d did ", me);
  printm(did);
  printf(", then ");
  printm(todo);
  did = todo;
  printf(": state %d free %d local %d head %d, owner %d last %d, class %d used %d carved %d deferred %d", state, free,
         local_free, head, owner, last_owner, class, used, carved, deferred);
  printf(", binned_in %d kept_by %d shared_from %d, blocks at %d %d %d\n", binned_in, kept_by, shared_from, place[1],
         place[2], place[3])
}
#endif

/* ---- threads ---- */

/* The end of an operation. */
inline rest() {
  assert(lock[0] != me && lock[CLASSES - 1] != me && hand == 0);
  lists[at] = NONE;
  at = NONE; b = 0; c = 0; link = 0; unsharing = false;
  seen_state = 0; seen_free = 0; seen_local = 0; seen_head = 0;
  resting = (alive -> resting & (everybody - bit(me)) : resting | bit(me))
}

#define idle  (todo == IDLE && vanishing == 0)
#define at_step(s)  (todo == s && vanishing == 0)

proctype Thread(byte me, mallocs, looks, forks) {
  mtype:step todo = IDLE;
#ifdef SHOW
  mtype:step did = IDLE;
#endif
  bool alive = true;        /* it has a heap */
  bool current;             /* the run is its current one */
  bool is_new;              /* it may come into being, in the child of a fork */
  byte at;                  /* at whose lists it is, or NONE */
  byte c, b;                /* class or bin, and block of the operation under way */
  byte hand;                /* set of blocks that it is about to defer or give back */
  byte link;                /* of a list: as read */
  bool unsharing;           /* to give back ends the sharing, too */
  byte seen_state, seen_free, seen_local, seen_head;  /* the word as loaded */

end:
  do
  :: atomic {
       if
       :: (vanishing & bit(me)) != 0 -> vanish()

       /* what an idle thread does next, always a free choice */
       :: idle && alive && mallocs > 0 && has_room -> malloc_from_current()
       :: idle && alive && kept_by == me && lists[me] == NONE -> kept_by = NONE; current = true
       :: idle && alive && mallocs > 0 && may_take(0) -> begin_take(0)
       :: idle && alive && mallocs > 0 && CLASSES == 2 && may_take(CLASSES - 1) -> begin_take(CLASSES - 1)
       :: idle && alive && mallocs > 0 && !a_run -> make(0)
       :: idle && alive && mallocs > 0 && !a_run && CLASSES == 2 -> make(CLASSES - 1)
       :: idle && place[1] == LIVE -> begin_free(1)
       :: idle && place[2] == LIVE -> begin_free(2)
       :: idle && place[3] == LIVE -> begin_free(3)
       :: idle && alive && out[me] != 0 && lists[me] == NONE -> begin_flush(me)
       :: idle && alive && shared_from == me && lists[me] == NONE -> enter_lists(me); todo = UNSHARE
       :: idle && alive && (current || kept_by == me) && lists[me] == NONE -> begin_release()
       :: idle && may_empty(1) -> begin_emptying(1)
       :: idle && may_empty(2) -> begin_emptying(2)
       :: idle && may_empty(THREADS) -> begin_emptying(THREADS)
       :: idle && may_purge -> begin_purge(binned_in - 1)
       :: idle && may_end -> end_heap()
       :: idle && may_fork -> fork()
       :: idle && is_new -> begin_heap()

       /* operations under way */
       :: at_step(FREE) -> step_free()
       :: at_step(DEFER) -> step_defer()
       :: at_step(DEFER_STORE) -> step_defer_store()
       :: at_step(DEFER_COUNT) -> step_defer_count()
       :: at_step(EVENT) && lists[me] == NONE -> step_event()
       :: at_step(ADOPT) -> step_adopt()
       :: at_step(ADOPT_SWAP) -> step_adopt_swap()
       :: at_step(ADOPT_PUBLISH) -> step_adopt_publish()
       :: at_step(INHERIT) && lock[c] == NONE -> step_inherit()
       :: at_step(INHERIT_SWAP) -> step_inherit_swap()
       :: at_step(INHERIT_PUBLISH) -> step_inherit_publish()
       :: at_step(LIST_RUN) && lists[me] == NONE -> step_list()
       :: at_step(USE_OUTBOX) && lists[me] == NONE -> out[me] = out[me] | hand; hand = 0; todo = IDLE
       :: at_step(GIVE_BACK) -> step_give_back()
       :: at_step(GIVE_BACK_SWAP) -> step_give_back_swap()
       :: at_step(OFFER) && lock[c] == NONE -> step_offer()
       :: at_step(INSERT) -> binned_in = c + 1; lock[c] = NONE; todo = IDLE
       :: at_step(RECLAIM) && lock[c] == NONE -> step_reclaim()
       :: at_step(ALL_FREE) -> step_all_free()
       :: at_step(FREE_PAGES) -> step_free_pages()
       :: at_step(RELEASE) -> step_release()
       :: at_step(RELEASE_SWAP) -> step_release_swap()
       :: at_step(TAKE_SWAP) -> step_take_swap()
       :: at_step(TAKE_PUBLISH) -> step_take_publish()
       :: at_step(TAKE_BLOCK) -> step_take_block()
       :: at_step(TAKE_LOCAL) -> step_take_local()
       :: at_step(TAKE_BLOCK_SWAP) -> step_take_block_swap()
       :: at_step(TAKE_BLOCK_END) -> step_take_block_end()
       :: at_step(RESTORE_SWAP) -> step_restore_swap()
       :: at_step(DETACH) -> load_word(); todo = DETACH_SWAP
       :: at_step(DETACH_SWAP) -> step_detach_swap()
       :: at_step(PURGE) -> step_purge()
       :: at_step(LIST_BLOCKS) -> load_word(); todo = LIST_SWAP
       :: at_step(LIST_SWAP) -> step_list_swap()
       :: at_step(EMPTY) -> step_emptying()
       :: at_step(LOOK) -> step_look()
       :: at_step(HOSTAGE) -> step_hostage()
       :: at_step(HOSTAGE_COUNT) -> step_hostage_count()
       :: at_step(SHARE) -> step_share()
       :: at_step(SHARE_SWAP) -> step_share_swap()
       :: at_step(UNSHARE) -> step_unshare()
       fi;
       if
       :: todo == IDLE -> rest()
       :: else -> resting = resting & (everybody - bit(me))
       fi
#ifdef SHOW
       ; print()
#endif
     }
  od
}

init {
  atomic {
    if
    :: START == NO_RUN
    :: else ->
       class = 0; last_owner = 1;
       do
       :: carved == CUT -> break
       :: else -> carved++; used++; place[carved] = LIVE; next[carved] = carved
       od;
       if
       :: START == FULL -> state = FULL
       :: else -> owner = 1; kept_by = 1; holder = 1
       fi
    fi;
    run Thread(1, MALLOCS_1, LOOKS_1, FORKS_1);
    run Thread(2, MALLOCS_2, LOOKS_2, 0);
    if
    :: THREADS == 3 -> run Thread(3, MALLOCS_3, LOOKS_3, 0)
    :: else
    fi
  }
}
