"""Bugs that run.py plants in the ownership protocol: each is a change of the text of src/slab/ that the search must find.

A text that is not there, or there twice, is an error: keep these up to date with the code.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Bug:
    name: str
    what: str
    file: str
    old: str
    new: str


BUGS = [
    Bug("adopts-a-shared-run",
        "whether a run is shared does not stop its former owner from adopting it",
        "transitions.cc",
        "while (word.state == RunState::kFull) {\n    if (change_remote(slab, word, word.owned())) {",
        "while (is_full(word.state)) {\n    if (change_remote(slab, word, word.owned())) {"),
    Bug("adopts-by-last-owner",
        "the last owner alone says that a run may be adopted",
        "transitions.cc",
        "while (word.state == RunState::kFull) {\n    if (change_remote(slab, word, word.owned())) {",
        "while (word.state != RunState::kOwned) {\n    if (change_remote(slab, word, word.owned())) {"),
    Bug("purges-in-the-bin",
        "who purges a run leaves it in its bin, where others take blocks of it meanwhile",
        "purge.cc",
        "  remove(slab);\n  return Quiet::kTaken;",
        "  return Quiet::kTaken;"),
    Bug("offer-without-recheck",
        "who puts a run into its bin does not look whether all blocks are free by now",
        "bin.cc",
        "  if (take_if_all_free(slab)) return true;\n  insert(slab);",
        "  insert(slab);"),
    Bug("reclaim-unbinned",
        "who frees the last block takes the run although it is not in the bin yet",
        "bin.cc",
        "relaxed_load(slab->binned_in) != this || ",
        ""),
    Bug("inherits-unbinned",
        "a thread inherits a run that is about to be put into its bin",
        "bin.cc",
        "  if (relaxed_load(slab->binned_in) != this) return false;\n",
        ""),
    Bug("inherits-unlocked",
        "a thread inherits a run out of its bin without the bin's lock",
        "bin.cc",
        "bool Bin::take_this(Slab* slab, Owner owner) {\n  Lock lock(lock_);\n",
        "bool Bin::take_this(Slab* slab, Owner owner) {\n"),
    Bug("owner-cleared-after",
        "release clears the owner when another thread may have the run",
        "transitions.cc",
        "  if (next.state == RunState::kBinned && bin->offer(slab)) free_pages(slab);\n}",
        "  relaxed_store(slab->owner, kNoThread);\n"
        "  if (next.state == RunState::kBinned && bin->offer(slab)) free_pages(slab);\n}"),
    Bug("hostage-not-counted",
        "the hostage is of a free whose last store is to come",
        "reclaim.cc",
        "return used_blocks == static_cast<int32_t>(slab->carved - blocks) ? head : kEndOfList;",
        "return used_blocks >= 0 && blocks != 0 ? head : kEndOfList;"),
    Bug("no-hostage",
        "all deferred blocks are taken from an idle owner",
        "reclaim.cc",
        "  const LowAddress others = link_at(slab, hostage)->next;\n"
        "  link_at(slab, hostage)->next = kEndOfList;",
        "  const LowAddress others = hostage;\n"
        "  release_store(slab->deferred, kEndOfList);"),
    Bug("unshared-early",
        "who reclaims ends the sharing while a late block may come",
        "reclaim.cc",
        "word.free + 1 == slab->capacity",
        "word.free + 2 >= slab->capacity"),
    Bug("shared-taken-as-owner",
        "a thread that finds a shared run in its bin becomes its owner",
        "bin.cc",
        "  if (is_shared(word.state)) return {nullptr, take_blocks_of(slab, most)};\n",
        ""),
    Bug("takes-the-hostage",
        "blocks are taken off the deferred list of a shared run",
        "bin.cc",
        "is_shared(RemoteWord::state_in(bits)) ? kEndOfList : slab->deferred",
        "slab->deferred"),
    Bug("purges-the-hostage",
        "who purges a shared run takes the deferred list of its former owner",
        "purge.cc",
        "shared ? kEndOfList : slab->deferred;",
        "slab->deferred;"),
    Bug("owns-purged-pages",
        "who becomes the owner of a run does not cut its uncut blocks again",
        "bin.cc",
        "  if (ACRE_UNLIKELY(slab::has_purged(slab))) slab::restore_all(slab);\n",
        ""),
    Bug("purge-forgets-frees",
        "who purges a run puts its list back over what was freed meanwhile",
        "purge.cc",
        "blocks.last->next = head_block(slab, word);",
        "blocks.last->next = kEndOfList;"),
    Bug("takes-unlocked",
        "blocks are taken of a run without its bin's lock",
        "bin.cc",
        "  if (seems_empty()) return {};\n  Lock lock(lock_);\n  Slab* slab = runs_.min();\n"
        "  if (slab == nullptr) return {};\n  return most == 1",
        "  if (seems_empty()) return {};\n  Slab* slab = runs_.min();\n"
        "  if (slab == nullptr) return {};\n  return most == 1"),
    Bug("leaves-the-bin-late",
        "the run becomes full, and may be adopted, before it has left its bin",
        "bin.cc",
        "    stays = keep_if_binned(slab, rest, stays);\n"
        "    // As change_remote(); acquire on failure for the links.\n"
        "  } while (!slab->remote.compare_exchange_weak(bits, rest, std::memory_order_acq_rel, std::memory_order_acquire));\n",
        "  } while (!slab->remote.compare_exchange_weak(bits, rest, std::memory_order_acq_rel, std::memory_order_acquire));\n"
        "  keep_if_binned(slab, rest, stays);\n"),
    Bug("cuts-late",
        "a block is cut when the run is full already, and may be adopted",
        "bin.cc",
        "    taken.head = slab::cut(slab, taken.count, kEndOfList);\n",
        "    for (uint64_t rest;;) {\n"
        "      rest = RemoteWord::less_local(bits, taken.count, slab->enough);\n"
        "      keep_if_binned(slab, rest, true);\n"
        "      if (slab->remote.compare_exchange_weak(bits, rest, std::memory_order_acq_rel)) break;\n"
        "    }\n"
        "    taken.head = slab::cut(slab, taken.count, kEndOfList);\n"
        "    return taken;\n"),
    Bug("stays-binned",
        "the run of which too little is free leaves its bin, and its word still says binned",
        "word.h",
        "return (bits >> kFreeAt & kCountMask) >= enough ? bits : bits - (uint64_t{1} << kStateAt);",
        "return bits + 0 * enough;"),
    Bug("bin-read-after",
        "the run's bin is read after the change of the word, when the header may be another run's",
        "transitions.cc",
        "  bool ours = false;\n",
        "  bool ours = false;\n  bin = bin_of(slab);\n"),
    Bug("capacity-read-after",
        "the run's capacity is read after the change of the word",
        "transitions.cc",
        "} else if (is_binned(word.state) && next.free == capacity) {",
        "} else if (is_binned(word.state) && next.free == slab->capacity) {"),
    Bug("local-blocks-forgotten",
        "the next owner takes blocks that only it can reach for remote ones",
        "word.h",
        "return {RunState::kOwned, free - local, 0, head};",
        "return {RunState::kOwned, free, 0, head};"),
    Bug("used-forgotten",
        "the next owner counts no deferred blocks",
        "transitions.cc",
        "count_down(slab, slab->capacity - word.local, 0);",
        "count_down(slab, slab->carved, 0);"),
    Bug("release-by-store",
        "release stores the word: a block that is freed meanwhile is lost",
        "transitions.cc",
        "  } while (!change_remote(slab, word, next));\n"
        "  if (next.state == RunState::kBinned && bin->offer(slab)) free_pages(slab);",
        "  } while (false);\n  slab->remote.store(next.pack(), std::memory_order_release);\n"
        "  if (next.state == RunState::kBinned && bin->offer(slab)) free_pages(slab);"),
    Bug("purged-before-its-bits",
        "a thread sees that a run has purged pages before it sees which",
        "purge.cc",
        "  release_store(slab->free_path, pages != 0 ?",
        "  relaxed_store(slab->free_path, pages != 0 ?"),
    Bug("purged-bits-read-early",
        "which pages are purged is read before whether any are",
        "purge.cc",
        "  if (acquire_load(slab->free_path) != FreePath::kPurged) return false;\n",
        ""),
]
