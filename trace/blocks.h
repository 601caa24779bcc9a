// The blocks of all processes of a recording, while its events go by in order. A forked child begins with the blocks that
// its parent had at the fork.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "order.h"

namespace acre::trace {

template <class Value>
class Blocks {
 public:
  using Map = std::unordered_map<uint64_t, Value>;  // by address

  Blocks(Reader& reader, const Order& order) : order_(order) {
    for (const Chunk& chunk : reader.chunks()) {
      if (chunk.header.type == ChunkType::kEvents) states_[chunk.header.process].events_left += chunk.header.events;
    }
    for (const auto& [number, facts] : order.processes()) {
      if (facts.parent < number && states_.contains(number) && states_.contains(facts.parent)) {
        states_[facts.parent].children.push_back({number, {}});
      }
    }
  }

  // Comes before whatever else is done for an event, of whichever kind. inherited(process, address, Value&) → bool: called
  // for each block that a child may begin with; false leaves the block out.
  template <class Inherited>
  void before(const Merged& merged, Inherited inherited) {
    State& state = states_[merged.process];
    if (!state.has_begun) begin(merged.process, state, inherited);
    if (!is_of_block(merged.event->what)) return;
    note_for_children(merged, state);
    state.was_last = state.events_left > 0 && --state.events_left == 0;
  }

  // Null: no block of the process is known there.
  Value* find(uint32_t process, uint64_t address) {
    Map& map = states_[process].map;
    const auto found = map.find(address);
    return found == map.end() ? nullptr : &found->second;
  }

  void put(uint32_t process, uint64_t address, Value value) {
    states_[process].map.insert_or_assign(address, std::move(value));
  }

  // False: the block is not known, as one from before the recording.
  bool take(uint32_t process, uint64_t address, Value& to) {
    Map& map = states_[process].map;
    const auto found = map.find(address);
    if (found == map.end()) return false;
    to = std::move(found->second);
    map.erase(found);
    return true;
  }

  const Map& of(uint32_t process) { return states_[process].map; }

  // By the chunks' headers, the process's last event of a block has been seen, and no child of it is still to begin.
  bool is_over(uint32_t process) {
    const State& state = states_[process];
    return state.was_last && state.children.empty();
  }
  void forget(uint32_t process) { states_[process].map = Map(); }

 private:
  // A child whose first event is still to come, and what the parent has changed since the fork: the child takes it back.
  struct Child {
    uint32_t process;
    struct Undo {
      uint64_t address;
      std::optional<Value> before;
    };
    std::vector<Undo> log;
  };

  struct State {
    Map map;
    bool has_begun = false;
    bool was_last = false;
    uint64_t events_left = 0;
    std::vector<Child> children;
  };

  template <class Inherited>
  void begin(uint32_t process, State& state, Inherited inherited) {
    state.has_begun = true;
    const uint32_t number = order_.processes().at(process).parent;
    const auto parent = states_.find(number);
    if (parent == states_.end() || number >= process) return;
    std::vector<Child>& children = parent->second.children;
    const auto child = std::find_if(children.begin(), children.end(), [&](const Child& c) { return c.process == process; });
    if (child == children.end()) return;
    state.map = parent->second.map;
    for (auto undo = child->log.rbegin(); undo != child->log.rend(); ++undo) {
      if (undo->before)
        state.map.insert_or_assign(undo->address, *undo->before);
      else
        state.map.erase(undo->address);
    }
    children.erase(child);
    for (auto entry = state.map.begin(); entry != state.map.end();) {  // std::erase_if hands out what is const
      entry = inherited(process, entry->first, entry->second) ? std::next(entry) : state.map.erase(entry);
    }
  }

  void note_for_children(const Merged& merged, State& state) {
    const Position here{merged.block, merged.event->offset};
    for (Child& child : state.children) {
      if (order_.processes().at(child.process).was_before_fork(merged.lane, here)) continue;
      const auto found = state.map.find(merged.event->address);
      child.log.push_back(
          {merged.event->address, found == state.map.end() ? std::optional<Value>() : std::optional(found->second)});
    }
  }

  const Order& order_;
  std::unordered_map<uint32_t, State> states_;
};

}  // namespace acre::trace
