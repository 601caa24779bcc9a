// Small scenarios of the ownership protocol. Each names the changes of state (slab/slab.h) that it lets meet.
#include "scenarios.h"

#include "slab/purge.h"
#include "world.h"

namespace interleave {

using namespace acre;

namespace {

// --- What threads do ----------------------------------------------------------------------------------------------

// Reclaims the run from its owner, if that can be done.
void reclaim() {
  if (slab::is_all_free(run())) {
    slab::free_pages(run());
  } else if (Link* const hostage = slab::find_hostage(run()); hostage != nullptr) {
    slab::share(run(), hostage);
  }
}

// Takes blocks from the bin, as a thread does for a class of few blocks; returns how many.
unsigned take_blocks(unsigned most) {
  const BlockList taken = bin().take_blocks(most);
  return taken ? hand_out_list(taken.head) : 0;
}

// Takes the run from the bin, or blocks if it is shared.
bool take_run(Owner me) {
  const Bin::Taken taken = bin().take(me, 1);
  if (taken.blocks) hand_out_list(taken.blocks.head);
  return taken.run != nullptr;
}

// The owner allocates all that it can reach.
void use_up() {
  Slab* slab = run();
  uint64_t collected = 0;
  hand_out_list(slab::take_deferred(slab));
  if (hand_out_list(slab::collect_remote(slab, &collected)) != collected) fail("the remote list was counted wrong");
  const unsigned uncarved = slab->capacity - slab->carved;
  if (uncarved != 0) hand_out_list(slab::carve(slab, uncarved, nullptr));
}

void free_if_live(unsigned index, Owner me) {
  if (is_live(index)) free_block(index, me);
}

void release() { slab::release(run()); }

// Purges pages of the run, if it is in its bin.
void purge() {
  if (bin().take_quiet(run(), kNever) != Bin::Quiet::kTaken) return;
  slab::purge(run());
  if (bin().offer(run())) slab::free_pages(run());
}

// A thread that is not the last owner frees a block of a run whose last owner has ended. If it inherits the run, it
// allocates all of it, and gives it up.
void inherit_and_use_up(unsigned index, Owner me) {
  if (!free_orphan(index, me)) return;
  run()->node.prev = nullptr;  // as RunList::add()
  run()->node.next = nullptr;
  use_up();
  release();
}

// The last owner frees a block. If it adopts the run, it puts it into a list of its own, and allocates all of it.
void adopt_and_use_up(unsigned index) {
  if (!free_block(index, kOwner)) return;
  run()->node.prev = nullptr;  // as RunList::add()
  run()->node.next = nullptr;
  use_up();
}

// --- Starts -------------------------------------------------------------------------------------------------------

// Owned and kept by kOwner: block 0 is deferred, the other `live` blocks are with the program.
void begin_kept(unsigned live, unsigned capacity, unsigned enough) {
  begin(kOwner, live + 1, capacity, enough);
  free_block(0, kOwner);
}

// Full: all blocks are with the program.
void begin_full(unsigned capacity, unsigned enough) {
  begin(kOwner, capacity, capacity, enough);
  release();
}

// In its bin: the first `live` blocks are with the program.
void begin_binned(unsigned live, unsigned capacity, unsigned enough) {
  begin(kOwner, live, capacity, enough);
  release();
}

// Shared: block 0 is the hostage, the other `live` blocks are with the program.
void begin_shared(unsigned live, unsigned capacity, unsigned enough) {
  begin_kept(live, capacity, enough);
  reclaim();
}

// In its bin: the program has blocks 1 … `live`, and the page of block 0 is purged.
void begin_purged(unsigned live, unsigned capacity, unsigned enough) {
  begin_kept(live, capacity, enough);
  release();
  purge();
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&all](Scenario scenario, bool large = false) { all.push_back({std::move(scenario), large}); };

  add({"adopt-beside-share", "share; the former owner frees, and would adopt", 2,
       [] { begin_kept(2, 3, 2); },
       [](unsigned thread) {
         if (thread == 0) {
           reclaim();
         } else if (free_block(1, kOwner)) {
           release();
         }
       },
       check_at_rest});

  add({"adopt-beside-share-and-unshare", "the same; then the former owner ends the sharing, and another thread frees", 3,
       [] { begin_kept(2, 3, 2); },
       [](unsigned thread) {
         if (thread == 0) reclaim();
         if (thread == 1 && free_block(1, kOwner)) release();
         if (thread == 2) free_block(2, kOther);
       },
       [] {
         if (!are_pages_free() && is_shared(load_remote(run()).state)) slab::unshare(run());
         check_at_rest();
       }});

  add({"late-free", "share; the owner is in the midst of free; another thread takes blocks of the shared run", 3,
       [] { begin_kept(1, 3, 1); },
       [](unsigned thread) {
         if (thread == 0) reclaim();
         if (thread == 1) free_block(1, kOwner);
         if (thread == 2) take_blocks(2);
       },
       check_at_rest});

  add({"late-free-and-take", "the same, with a thread that would own the run", 3,
       [] { begin_kept(1, 3, 1); },
       [](unsigned thread) {
         if (thread == 0) reclaim();
         if (thread == 1) free_block(1, kOwner);
         if (thread == 2 && take_run(kOther)) release();
       },
       check_at_rest});

  add({"unshare-by-reclaimer", "others free the last blocks of a shared run; who reclaims ends the sharing", 2,
       [] { begin_shared(2, 3, 1); },
       [](unsigned thread) {
         if (thread == 0) {
           free_block(1, kOther);
           free_block(2, kOther);
         } else if (slab::is_free_but_for_hostage(run())) {
           slab::unshare(run());
         }
       },
       check_at_rest});

  add({"unshare-by-owner", "the former owner ends the sharing; others free and take blocks", 3,
       [] { begin_shared(2, 3, 1); },
       [](unsigned thread) {
         if (thread == 0) slab::unshare(run());
         if (thread == 1) free_block(1, kOther);
         if (thread == 2) take_blocks(1);
       },
       check_at_rest});

  add({"unshare-beside-take", "the former owner ends the sharing; a thread takes the run from its bin, and uses it", 2,
       [] { begin_shared(1, 3, 1); },
       [](unsigned thread) {
         if (thread == 0) slab::unshare(run());
         if (thread == 1 && take_run(kOther)) {
           use_up();
           release();
         }
       },
       check_at_rest});

  add({"unshare-beside-late-free", "who reclaims would end the sharing while a late block is on its way", 2,
       [] { begin_kept(2, 3, 1); },
       [](unsigned thread) {
         if (thread == 1) {
           free_block(1, kOwner);
           return;
         }
         reclaim();
         free_block(2, kOther);
         if (!are_pages_free() && slab::is_free_but_for_hostage(run())) slab::unshare(run());
       },
       check_at_rest});

  add({"release-beside-take", "the owner gives a run up; another thread takes it, and keeps it", 2,
       [] { begin_kept(1, 3, 1); },
       [](unsigned thread) {
         if (thread == 0) {
           release();
         } else {
           take_run(kOther);
         }
       },
       [] {
         check_at_rest();
         if (load_remote(run()).state == RunState::kOwned && run()->owner != kOther.token) fail("the owner is not known");
       }});

  add({"release-to-full-beside-take", "the same, where the run becomes full first, and is binned by the other thread", 2,
       [] { begin(kOwner, 3, 3, 1); },
       [](unsigned thread) {
         if (thread == 0) {
           release();
         } else {
           free_block(0, kOther);
           take_run(kOther);
         }
       },
       [] {
         check_at_rest();
         if (load_remote(run()).state == RunState::kOwned && run()->owner == kNoThread) fail("the owner is not known");
       }});

  add({"take-beside-free", "a thread takes a run with deferred and remote blocks, and keeps it; another frees in it", 2,
       [] {
         begin_kept(3, 4, 1);
         release();
         free_block(1, kOther);
       },
       [](unsigned thread) { thread == 0 ? static_cast<void>(take_run(kOther)) : static_cast<void>(free_block(2, kThird)); },
       check_at_rest});

  add({"last-blocks", "two threads free the last two blocks of a full run", 2,
       [] { begin_full(2, 1); },
       [](unsigned thread) { free_block(thread, thread == 0 ? kOther : kThird); },
       [] {
         check_at_rest();
         if (!are_pages_free()) fail("the pages were not returned");
       }});

  add({"last-blocks-together", "the same where one free block is not enough for the bin", 2,
       [] { begin_full(2, 2); },
       [](unsigned thread) { free_block(thread, thread == 0 ? kOther : kThird); },
       [] {
         check_at_rest();
         if (!are_pages_free()) fail("the pages were not returned");
       }});

  add({"three-free", "three threads free the blocks of a full run", 3,
       [] { begin_full(3, 2); },
       [](unsigned thread) { free_block(thread, thread == 0 ? kOther : thread == 1 ? kThird : kFourth); },
       [] {
         check_at_rest();
         if (!are_pages_free()) fail("the pages were not returned");
       }});

  add({"adopt-beside-free", "the last owner frees in a full run, and another thread does", 2,
       [] { begin_full(3, 2); },
       [](unsigned thread) {
         if (thread == 0) {
           if (free_block(0, kOwner)) release();
         } else {
           free_block(1, kOther);
         }
       },
       check_at_rest});

  add({"release-beside-free", "the owner gives a run up; another thread frees in it", 2,
       [] { begin(kOwner, 3, 3, 2); },
       [](unsigned thread) { thread == 0 ? release() : static_cast<void>(free_block(1, kOther)); },
       check_at_rest});

  add({"release-empty-beside-free", "the owner frees its block and gives the run up; another thread frees the last one", 2,
       [] { begin(kOwner, 2, 2, 1); },
       [](unsigned thread) {
         if (thread == 0) {
           free_block(0, kOwner);
           release();
         } else {
           free_block(1, kOther);
         }
       },
       [] {
         check_at_rest();
         if (!are_pages_free()) fail("the pages were not returned");
       }});

  add({"collect-beside-free", "the owner takes what others have freed, and uses it", 2,
       [] { begin(kOwner, 3, 3, 2); },
       [](unsigned thread) {
         if (thread == 0) {
           uint64_t collected = 0;
           hand_out_list(slab::collect_remote(run(), &collected));
           free_if_live(1, kOwner);
         } else {
           free_block(2, kOther);
         }
       },
       check_at_rest});

  add({"take-beside-last-free", "a thread takes a run from its bin; another frees its last block", 2,
       [] { begin_binned(1, 2, 1); },
       [](unsigned thread) {
         if (thread == 0) {
           if (take_run(kOther)) {
             use_up();
             release();
           }
         } else {
           free_block(0, kThird);
         }
       },
       check_at_rest});

  add({"two-take", "two threads take a run from its bin", 2,
       [] { begin_binned(1, 3, 1); },
       [](unsigned thread) {
         if (take_run(thread == 0 ? kOther : kThird)) {
           use_up();
           release();
         }
       },
       check_at_rest});

  add({"two-take-blocks", "two threads take blocks of a run", 2,
       [] { begin_binned(1, 4, 1); },
       [](unsigned thread) { take_blocks(thread + 1); },
       check_at_rest});

  add({"take-blocks-beside-free", "a thread takes the last free block; another frees the others", 2,
       [] {
         begin_full(3, 1);
         free_block(0, kOther);
       },
       [](unsigned thread) {
         if (thread == 0) {
           take_blocks(1);
         } else {
           free_block(1, kThird);
           free_block(2, kThird);
         }
       },
       check_at_rest});

  add({"take-blocks-beside-take", "a thread takes blocks of a run; another takes the run, and gives it up", 2,
       [] {
         begin_full(3, 1);
         free_block(0, kOther);
       },
       [](unsigned thread) {
         if (thread == 0) {
           take_blocks(1);
         } else if (take_run(kThird)) {
           use_up();
           release();
         }
       },
       check_at_rest});

  add({"adopt-beside-take-blocks", "a thread takes the block with which a run becomes full; its last owner adopts it", 2,
       [] {
         begin_kept(1, 4, 3);
         release();
       },
       [](unsigned thread) { thread == 0 ? static_cast<void>(take_blocks(1)) : adopt_and_use_up(1); },
       check_at_rest});

  add({"adopt-beside-take-uncarved", "the same with a block that was never used", 2,
       [] { begin_binned(1, 4, 3); },
       [](unsigned thread) { thread == 0 ? static_cast<void>(take_blocks(1)) : adopt_and_use_up(0); },
       check_at_rest});

  add({"adopt-beside-take-listed", "the same with a block that another thread has freed", 2,
       [] {
         begin_binned(2, 4, 3);
         free_block(0, kOther);
       },
       [](unsigned thread) { thread == 0 ? static_cast<void>(take_blocks(1)) : adopt_and_use_up(1); },
       check_at_rest});

  add({"inherit-beside-inherit", "two threads free blocks of a full run whose last owner has ended", 2,
       [] { begin_full(3, 2); },
       [](unsigned thread) { inherit_and_use_up(thread, thread == 0 ? kOther : kThird); },
       check_at_rest});

  add({"inherit-beside-take", "a thread inherits a run out of its bin; another takes the run", 2,
       [] { begin_binned(1, 3, 2); },
       [](unsigned thread) {
         if (thread == 0) {
           inherit_and_use_up(0, kOther);
         } else if (take_run(kThird)) {
           use_up();
           release();
         }
       },
       check_at_rest});

  add({"inherit-beside-offer", "a thread frees the block that puts a run into its bin; another inherits the run", 2,
       [] {
         begin_full(4, 2);
         free_block(0, kOther);
       },
       [](unsigned thread) {
         thread == 0 ? static_cast<void>(free_block(1, kOther)) : inherit_and_use_up(2, kThird);
       },
       check_at_rest});

  add({"inherit-beside-take-blocks", "a thread takes the block with which a run becomes full; another inherits the run", 2,
       [] {
         begin_kept(1, 4, 3);
         release();
       },
       [](unsigned thread) { thread == 0 ? static_cast<void>(take_blocks(1)) : inherit_and_use_up(1, kThird); },
       check_at_rest});

  add({"inherit-beside-last-free", "a thread inherits a run out of its bin; another frees the other block", 2,
       [] { begin_binned(2, 3, 1); },
       [](unsigned thread) {
         if (thread == 0) {
           free_block(0, kOther);
         } else if (free_orphan(1, kThird)) {
           run()->node.prev = nullptr;
           run()->node.next = nullptr;
           release();
         }
       },
       [] {
         check_at_rest();
         if (!are_pages_free()) fail("the pages were not returned");
       }});

  add({"take-blocks-beside-two-frees", "the run seems to become full; frees by two threads keep it in its bin", 3,
       [] {
         begin_full(4, 1);
         free_block(0, kOther);
       },
       [](unsigned thread) {
         if (thread == 0) {
           take_blocks(1);
         } else {
           free_block(thread, kThird);
         }
       },
       check_at_rest});

  add({"recycled", "two threads free the last blocks; a third makes another run with the same header", 3,
       [] { begin_full(2, 1); },
       [](unsigned thread) {
         if (thread < 2) {
           free_block(thread, thread == 0 ? kOther : kThird);
         } else if (make_again(kThird, 2, 1) != nullptr) {
           hand_out_list(slab::carve(run(), 1, nullptr));
           release();
         }
       },
       check_at_rest});

  add({"recycled-from-full", "two threads free all blocks of a full run that was never binned; a third makes another run", 3,
       [] { begin_full(2, 2); },
       [](unsigned thread) {
         if (thread < 2) {
           free_block(thread, thread == 0 ? kOther : kThird);
         } else if (make_again(kThird, 2, 1) != nullptr) {
           hand_out_list(slab::carve(run(), 2, nullptr));
           release();
         }
       },
       check_at_rest});

  add({"reclaimed-whole", "the owner frees its last block; the run is reclaimed whole, and becomes another", 3,
       [] { begin_kept(1, 2, 1); },
       [](unsigned thread) {
         if (thread == 0) free_block(1, kOwner);
         if (thread == 1 && slab::is_all_free(run())) slab::free_pages(run());
         if (thread == 2 && make_again(kThird, 2, 1) != nullptr) {
           hand_out_list(slab::carve(run(), 2, nullptr));
           release();
         }
       },
       check_at_rest});

  add({"reclaimed-with-others-blocks", "the same; another thread has freed the last block", 3,
       [] { begin_kept(1, 2, 1); },
       [](unsigned thread) {
         if (thread == 0) free_block(1, kOther);
         if (thread == 1 && slab::is_all_free(run())) slab::free_pages(run());
         if (thread == 2 && make_again(kThird, 2, 1) != nullptr) {
           hand_out_list(slab::carve(run(), 2, nullptr));
           release();
         }
       },
       check_at_rest});

  add({"hostage-counted", "the owner frees what becomes the hostage; all else is freed, and the run becomes another", 2,
       [] { begin(kOwner, 2, 2, 1); },
       [](unsigned thread) {
         if (thread == 0) {
           free_block(0, kOwner);
           return;
         }
         reclaim();
         free_block(1, kOther);
         if (!are_pages_free() && slab::is_free_but_for_hostage(run())) slab::unshare(run());
         if (make_again(kThird, 2, 1) != nullptr) {
           hand_out_list(slab::carve(run(), 2, nullptr));
           release();
         }
       },
       check_at_rest});

  add({"unshared-and-recycled", "others free the blocks of a shared run; who reclaims ends the sharing; another run follows", 2,
       [] { begin_shared(2, 3, 1); },
       [](unsigned thread) {
         if (thread == 0) {
           free_block(1, kOther);
           free_block(2, kOther);
           return;
         }
         if (slab::is_free_but_for_hostage(run())) slab::unshare(run());
         if (make_again(kThird, 2, 1) != nullptr) {
           hand_out_list(slab::carve(run(), 2, nullptr));
           release();
         }
       },
       check_at_rest});

  add({"purge-beside-free", "a run is purged; another thread frees the last blocks", 2,
       [] {
         begin_kept(2, 4, 1);
         release();
       },
       [](unsigned thread) {
         if (thread == 0) return purge();
         free_block(1, kOther);
         free_block(2, kOther);
       },
       [] {
         check_at_rest();
         if (!are_pages_free()) fail("the pages were not returned");
       }});

  add({"purge-beside-take", "a run is purged; another thread takes it, and uses it", 2,
       [] {
         begin_kept(2, 3, 1);
         release();
       },
       [](unsigned thread) {
         if (thread == 0) return purge();
         if (!take_run(kOther)) return;
         use_up();
         release();
       },
       check_at_rest});

  add({"purge-beside-frees", "a run is purged; two threads free the last blocks", 3,
       [] {
         begin_kept(2, 4, 1);
         release();
       },
       [](unsigned thread) { thread == 0 ? purge() : static_cast<void>(free_block(thread, thread == 1 ? kOther : kThird)); },
       [] {
         check_at_rest();
         if (!are_pages_free()) fail("the pages were not returned");
       }},
      true);

  add({"purge-beside-take-and-free", "the same; a third frees a block", 3,
       [] {
         begin_kept(2, 3, 1);
         release();
       },
       [](unsigned thread) {
         if (thread == 0) purge();
         if (thread == 1 && take_run(kOther)) {
           use_up();
           release();
         }
         if (thread == 2) free_block(1, kThird);
       },
       check_at_rest},
      true);

  add({"two-purge", "two threads purge a run; a third frees a block", 3,
       [] {
         begin_kept(2, 3, 1);
         release();
       },
       [](unsigned thread) { thread < 2 ? purge() : static_cast<void>(free_block(1, kThird)); },
       check_at_rest});

  add({"purge-beside-unshare", "a shared run is purged; its former owner ends the sharing; another frees a block", 3,
       [] { begin_shared(2, 4, 1); },
       [](unsigned thread) {
         if (thread == 0) purge();
         if (thread == 1) slab::unshare(run());
         if (thread == 2) free_block(1, kOther);
       },
       check_at_rest});

  add({"purge-beside-late-free", "a run is shared and purged while its former owner is in the midst of free", 2,
       [] { begin_kept(2, 4, 1); },
       [](unsigned thread) {
         if (thread == 1) {
           free_block(1, kOwner);
           return;
         }
         reclaim();
         if (!are_pages_free()) purge();
       },
       check_at_rest});

  add({"take-blocks-of-purged", "two threads take blocks of a run with a purged page; a third frees one", 3,
       [] { begin_purged(2, 3, 1); },
       [](unsigned thread) { thread < 2 ? static_cast<void>(take_blocks(2)) : static_cast<void>(free_block(1, kThird)); },
       check_at_rest});

  add({"adopt-purged", "a thread takes the block with which a run with a purged page becomes full; its last owner adopts it", 2,
       [] { begin_purged(2, 4, 2); },
       [](unsigned thread) { thread == 0 ? static_cast<void>(take_blocks(1)) : adopt_and_use_up(1); },
       check_at_rest});

  add({"take-purged-beside-free", "a thread takes a run with a purged page, and uses it; another frees a block", 2,
       [] { begin_purged(2, 3, 1); },
       [](unsigned thread) {
         if (thread == 1) {
           free_block(1, kThird);
         } else if (take_run(kOther)) {
           use_up();
           release();
         }
       },
       check_at_rest});

  add({"hand-over", "blocks that one thread took and freed are taken by another: three threads over one list", 3,
       [] { begin_full(3, 1); },
       [](unsigned thread) {
         if (thread == 0) {
           free_block(0, kOther);
           free_block(1, kOther);
         } else {
           take_blocks(1);
         }
       },
       check_at_rest,
      }, true);

  add({"shared-all", "share, a late free, a thread that takes blocks and frees them, and the end of the sharing", 3,
       [] { begin_kept(2, 3, 1); },
       [](unsigned thread) {
         if (thread == 0) reclaim();
         if (thread == 1) free_block(1, kOwner);
         if (thread == 2) {
           take_blocks(1);
           free_block(2, kOther);
         }
       },
       [] {
         if (!are_pages_free() && is_shared(load_remote(run()).state)) slab::unshare(run());
         check_at_rest();
       }},
      true);

  return all;
}

}  // namespace

// The short ones first: a weakened order of the page map is found at once.
std::vector<Case> all_cases() {
  std::vector<Case> all = page_map_cases();
  for (Case& each : cases()) all.push_back(std::move(each));
  return all;
}

}  // namespace interleave
