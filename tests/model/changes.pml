/*
 * The changes of a run's state (src/slab: transitions.cc, bin.cc, reclaim.cc), each as one or more steps.
 *
 * A step is indivisible. So it touches at most one thing that others can change or see at that moment: the remote word,
 * a field that is read without a hold, or a lock. Besides it may touch what nobody else can: what belongs to the holder
 * of the run, or is under a lock that the thread has. A lock is taken in one step with what follows, and left in one
 * step with what precedes: no other order of steps could make a difference.
 *
 * bug(X) is true if X is planted.
 */

mtype:step = {
  IDLE,
  FREE, DEFER, DEFER_STORE, DEFER_COUNT, EVENT,
  ADOPT, ADOPT_SWAP, ADOPT_PUBLISH, INHERIT, INHERIT_SWAP, INHERIT_PUBLISH, LIST_RUN,
  USE_OUTBOX, GIVE_BACK, GIVE_BACK_SWAP, OFFER, INSERT, RECLAIM, ALL_FREE, FREE_PAGES,
  RELEASE, RELEASE_SWAP, TAKE_SWAP, TAKE_PUBLISH, TAKE_BLOCK, TAKE_LOCAL, TAKE_BLOCK_SWAP, TAKE_BLOCK_END,
  RESTORE_SWAP, DETACH, DETACH_SWAP, PURGE, LIST_BLOCKS, LIST_SWAP,
  EMPTY, LOOK, HOSTAGE, HOSTAGE_COUNT, SHARE, SHARE_SWAP, UNSHARE
}

#define give_back_or_wait  (alive && OUTBOXES -> USE_OUTBOX : GIVE_BACK)
inline enter_lists(whose) { at = whose; lists[whose] = me }

inline begin_ownership() { last_owner = me; owner = me }

/* ---- make ---- */

inline make(new_class) {
  class = new_class;
  current = true;
  if
  :: bug(MAKE_KEEPS_WORD)
  :: else -> free = 0; head = 0
  fi;
  holder = me;
  begin_ownership()
}

/* ---- adopt ---- */

#define may_adopt(s)  ((s) == FULL || (is_full(s) && bug(ADOPT_BESIDE_SHARE)) || ((s) == BINNED && bug(ADOPT_BINNED)))

/* Out of the bin. How much of the run is free is policy. */
#define may_inherit  (last_owner != me && is_binned(seen_state) && (seen_state == BINNED || bug(INHERIT_SHARED)))

inline step_adopt() {
  load_word();
  c = class;
  todo = (may_adopt(seen_state) -> ADOPT_SWAP : (may_inherit -> INHERIT : give_back_or_wait))
}

inline step_adopt_swap() {
  if
  :: unchanged -> set_owned(); todo = ADOPT_PUBLISH
  :: else -> todo = ADOPT
  fi
}

/* Nobody else finds the run before it is listed: so the block is deferred in this step. */
inline step_adopt_publish() {
  used = (bug(ADOPT_FORGETS_DEFERRED) -> carved : capacity_of(class) - seen_local);
  restore_all();
  begin_ownership();
  used--;
  push_deferred();
  hand = 0;
  todo = LIST_RUN
}

/* ---- inherit; the bin is locked ---- */

inline step_inherit() {
  if
  :: (binned_in == c + 1 || bug(INHERIT_UNBINNED)) && (state == BINNED || bug(INHERIT_SHARED)) ->
     lock[c] = me;
     todo = INHERIT_SWAP
  :: else -> todo = give_back_or_wait
  fi
}

inline step_inherit_swap() {
  binned_in = NONE;
  seen_local = local_free;
  set_owned();
  todo = INHERIT_PUBLISH
}

inline step_inherit_publish() {
  lock[c] = NONE;
  step_adopt_publish()
}

inline step_list() {
  enter_lists(me);
  if
  :: used == 0 -> todo = FREE_PAGES
  :: kept_by = me; todo = IDLE
  fi
}

/* ---- give back ---- */

/* What is needed after the swap is read here: then the run may be gone. */
inline step_give_back() {
  assert(a_run);
  c = class;
  load_word();
  todo = GIVE_BACK_SWAP
}

inline step_give_back_swap() {
  if
  :: unchanged || bug(GIVE_BACK_STORES_WORD) ->
     assert(class == c);
     store_word();
     b = 1;
     do
     :: hand == 0 -> break
     :: hand != 0 && (hand & bit(b)) == 0 -> b++
     :: else ->
        assert(place[b] == HELD);
        hand = hand - bit(b);
        place[b] = REMOTE;
        next[b] = head;
        head = b;
        free++
     od;
     if
     :: state != OWNED -> set_unowned(is_shared(state) && (!unsharing || bug(UNSHARE_KEEPS_SHARED)))
     :: else
     fi;
     todo = (is_full(seen_state) && is_binned(state) -> OFFER :
             (is_binned(seen_state) && free == capacity_of(c) -> RECLAIM : IDLE))
  :: else -> todo = GIVE_BACK
  fi
}

/* Who has made a run binned puts it into its bin. Until then nobody else can have it. */
inline step_offer() {
  assert(a_run && binned_in == NONE);
  lock[c] = me;
  load_word();
  todo = (seen_state == BINNED && seen_free == capacity_of(c) && !bug(OFFER_WITHOUT_LOOK) -> ALL_FREE : INSERT)
}

/* Who has freed the last block of a binned run. The header may be another run's by now. */
inline step_reclaim() {
  assert(a_run || !bug(GIVE_BACK_READS_BIN_LATE));
  if
  :: (binned_in == c + 1 || bug(RECLAIM_UNBINNED)) && state == BINNED && free == capacity_of(c) ->
     lock[c] = me;
     load_word();
     todo = ALL_FREE
  :: else -> todo = IDLE
  fi
}

/* No block is out, and the bin is locked: so nobody has changed the word. */
inline step_all_free() {
  assert(unchanged);
  assert(number(LIVE) + number(HELD) == 0);
  set_owned();
  free = 0; head = 0;
  no_blocks();
  binned_in = NONE;
  lock[c] = NONE;
  todo = FREE_PAGES
}

/* From here on the header may serve another run. */
inline step_free_pages() {
  assert(a_run && number(LIVE) + number(HELD) == 0 && late == 0);
  assert(binned_in == NONE && kept_by == NONE && shared_from == NONE);
  owner = NONE; class = NO_CLASS; holder = NONE;
  deferred = 0; used = 0; carved = 0;
  no_blocks();
  todo = IDLE
}

/* ---- release ---- */

inline step_release() {
  c = class;
  owner = (bug(RELEASE_CLEARS_OWNER_LATE) -> owner : NONE);
  load_word();
  todo = (seen_free == used -> FREE_PAGES : RELEASE_SWAP)
}

inline step_release_swap() {
  if
  :: unchanged || bug(RELEASE_STORES_WORD) ->
     store_word();
     local_free = capacity_of(c) - used;
     free = free + local_free;
     set_unowned(false);
     todo = (is_binned(state) -> OFFER : IDLE)
  :: else -> todo = RELEASE
  fi
}

/* ---- take; the bin is locked ---- */

inline step_take_swap() {
  assert(is_binned(state));
  binned_in = NONE;
  seen_local = local_free;
  set_owned();
  todo = TAKE_PUBLISH
}

inline step_take_publish() {
  used = capacity_of(class) - seen_local;
  restore_all();
  begin_ownership();
  current = true;
  lock[c] = NONE;
  todo = IDLE
}

/* ---- take blocks, one at a time; the bin is locked ---- */

#define has_cut  (carved < capacity_of(class) || (deferred != 0 && !is_shared(state)))

inline step_take_block() {
  assert(a_run);
  load_word();
  link = (b == 0 && seen_head != 0 -> next[seen_head] : 0);
  todo = (b == 0 && seen_head == 0 && !bug(TAKE_LOCAL_LATE) ->
          (number(PURGED) != 0 && !has_cut -> RESTORE_SWAP : TAKE_LOCAL) : TAKE_BLOCK_SWAP)
}

/* A purged block goes onto the remote list, where the thread takes it. */
inline step_restore_swap() {
  if
  :: unchanged ->
     link = (place[1] == PURGED -> 1 : (place[2] == PURGED -> 2 : 3));
     assert(place[link] == PURGED);
     place[link] = REMOTE;
     next[link] = head;
     head = link;
     local_free--
  :: else
  fi;
  todo = TAKE_BLOCK
}

/* Before the word says so: from then on the last owner may adopt the run. */
inline step_take_local() {
  take_local_block();
  todo = (bug(TAKE_LOCAL_LATE) -> TAKE_BLOCK_END : TAKE_BLOCK_SWAP)
}

inline step_take_block_swap() {
  if
  :: unchanged || bug(TAKE_BLOCK_STORES_WORD) ->
     store_word();
     free--;
     todo = TAKE_BLOCK_END;
     if
     :: b == 0 && head != 0 ->
        b = head;
        head = link;
        assert(place[b] == REMOTE && (link == 0 || place[link] == REMOTE));
        place[b] = HELD
     :: else ->
        local_free--;
        todo = (b == 0 -> TAKE_LOCAL : TAKE_BLOCK_END)
     fi;
     link = (free < enough_of(c) && !bug(TAKE_BLOCK_STAYS_BINNED));
     state = state - link;
     binned_in = (link && !bug(TAKE_BLOCK_LEAVES_BIN_LATE) -> NONE : binned_in)
  :: else -> todo = TAKE_BLOCK
  fi
}

inline step_take_block_end() {
  binned_in = (link && bug(TAKE_BLOCK_LEAVES_BIN_LATE) -> NONE : binned_in);
  lock[c] = (lock[c] == me -> NONE : lock[c]);
  hand_out();
  todo = IDLE
}

/* ---- reclaim from an idle owner, at whose lists this thread is; `link` is the count that was read ---- */

inline step_look() {
  if
  :: state == OWNED && free == link -> kept_by = NONE; todo = FREE_PAGES
  :: else -> todo = HOSTAGE
  fi
}

inline step_hostage() {
  b = deferred;
  todo = (b == 0 -> IDLE : HOSTAGE_COUNT)
}

/* A hostage's free must have been counted. */
inline step_hostage_count() {
  todo = (used == carved - length(b) || bug(SHARE_UNCOUNTED_HOSTAGE) -> SHARE : IDLE)
}

/* The hostage stays on the list, which the former owner may just be putting a block on. */
inline step_share() {
  c = class;
  owner = NONE;
  kept_by = NONE;
  if
  :: bug(SHARE_WITHOUT_HOSTAGE) -> link = b; deferred = 0
  :: else -> link = next[b]; next[b] = 0
  fi;
  deferred = (bug(SHARE_STORES_HEAD) -> b : deferred);
  load_word();
  todo = SHARE_SWAP
}

inline step_share_swap() {
  if
  :: unchanged ->
     do
     :: link == 0 -> break
     :: else ->
        assert(place[link] == DEFERRED);
        b = link;
        link = next[b];
        place[b] = REMOTE;
        next[b] = head;
        head = b;
        free++
     od;
     local_free = uncut;
     free = free + local_free;
     set_unowned(true);
     shared_from = at;
     todo = (is_binned(state) -> OFFER : IDLE)
  :: else -> load_word()
  fi
}

#define is_free_but_for_hostage  (is_shared(state) && free + (bug(UNSHARE_EARLY) -> 2 : 1) >= capacity_of(class))

inline step_unshare() {
  shared_from = NONE;
  unsharing = true;
  do
  :: deferred == 0 -> break
  :: else ->
     assert(place[deferred] == DEFERRED);
     place[deferred] = HELD;
     hand = hand | bit(deferred);
     deferred = next[deferred]
  od;
  todo = GIVE_BACK
}

/* ---- purge: pages without a live block. Which of the free blocks lie on such pages is a free choice. ---- */

/* The word still says binned, but nobody else finds the run. */
inline begin_purge(bin) {
  c = bin;
  purges--;
  binned_in = (bug(PURGE_IN_THE_BIN) -> binned_in : NONE);
  todo = DETACH
}

/* All free blocks become local, but for the deferred ones of a shared run, which are its former owner's. */
inline step_detach_swap() {
  if
  :: unchanged ->
     local_free = free;
     head = 0;
     b = 1;
     do
     :: b > BLOCKS -> break
     :: b <= BLOCKS && place[b] == REMOTE -> place[b] = DETACHED
     :: b <= BLOCKS && place[b] == DEFERRED && (!is_shared(state) || bug(PURGE_TAKES_HOSTAGE)) -> place[b] = DETACHED
     :: else -> b++
     od;
     b = 0;
     deferred = (is_shared(state) && !bug(PURGE_TAKES_HOSTAGE) -> deferred : 0);
     todo = PURGE
  :: else -> todo = DETACH
  fi
}

inline step_purge() {
  b = 1;
  do
  :: b > BLOCKS -> break
  :: b <= BLOCKS && place[b] == DETACHED -> place[b] = PURGED; b++
  :: b <= BLOCKS -> b++
  od;
  b = 0;
  todo = (number(DETACHED) != 0 -> LIST_BLOCKS : OFFER)
}

/* The others go onto the remote list, before what was freed meanwhile. Then the run is put back into its bin. */
inline step_list_swap() {
  if
  :: unchanged ->
     head = (bug(PURGE_STORES_HEAD) -> 0 : head);
     b = 1;
     do
     :: b > BLOCKS -> break
     :: b <= BLOCKS && place[b] == DETACHED ->
        place[b] = REMOTE;
        next[b] = head;
        head = b;
        local_free--
     :: else -> b++
     od;
     b = 0;
     todo = OFFER
  :: else -> todo = LIST_BLOCKS
  fi
}
