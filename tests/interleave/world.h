// The world of the scenarios: one slab run of a few blocks in an arena with one bin, and the rules that must hold for it.
//
// The code under test is src/slab/. The page heap, the header table and labels below it are replaced by a few lines in
// world.cc, which check what the protocol promises them.
#pragma once

#include "slab/bin.h"
#include "slab/reclaim.h"
#include "slab/transitions.h"

namespace interleave {

// Blocks of the run. `enough` is 2 unless a scenario says otherwise.
inline constexpr unsigned kBlocks = 4;

// Owners that do not exist elsewhere.
inline constexpr acre::Owner kOwner{0x10, 0x10}, kOther{0x20, 0x20}, kThird{0x30, 0x30}, kFourth{0x40, 0x40};

// A new world, with a run that `owner` owns; the program has its first `live` blocks, and the rest is not carved.
void begin(acre::Owner owner, unsigned live, unsigned capacity = kBlocks, unsigned enough = 2);

acre::Slab* run();
acre::Bin& bin();
void* block(unsigned index);
unsigned index_of(const void* block);

// A block comes to the program, or leaves it. Fails if it was there, or not there, already.
void hand_out(void* block);
void take_back(void* block);
// All blocks of a list come to the program, as malloc hands them out; returns how many.
unsigned hand_out_list(acre::Link* head);
bool is_live(unsigned index);
unsigned live_blocks();

// The run's pages are with the page heap.
bool are_pages_free();
// Takes them from there for a run of the same class or, with another bin, of another. Null if they are not there.
acre::Slab* make_again(acre::Owner owner, unsigned capacity = kBlocks, unsigned enough = 2);

// At rest: the accounts add up, for whichever state the run is in.
void check_at_rest();

// What a program's free does for this thread. Returns true if the thread adopted the run with it.
bool free_block(unsigned index, acre::Owner me);

// The same if the run's last owner has ended: true if the thread inherited the run.
bool free_orphan(unsigned index, acre::Owner me);

}  // namespace interleave
