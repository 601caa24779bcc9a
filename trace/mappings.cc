#include "mappings.h"

#include <cinttypes>
#include <cstdio>
#include <map>
#include <set>
#include <vector>

#include "file.h"
#include "proc.h"
#include "say.h"

namespace acre::trace {

int mappings(const std::string& path) {
  Reader reader;
  if (!reader.open(path)) {
    say("trace: %s", reader.error().c_str());
    return 1;
  }
  struct Process {
    uint32_t parent = kNone;
    std::string start;
    std::vector<std::string> texts;  // oldest first, each once
    std::set<std::string> known;
    std::vector<std::string> names;
  };
  std::map<uint32_t, Process> processes;
  std::vector<uint8_t> payload;
  for (const Chunk& chunk : reader.chunks()) {
    const ChunkHeader& header = chunk.header;
    if (header.process == kNone) continue;
    Process& process = processes[header.process];
    if (header.type == ChunkType::kProcessStart && reader.read(chunk, payload)) {
      process.parent = header.lane;
      process.start.assign(payload.begin(), payload.end());
    } else if (header.type == ChunkType::kMappings && reader.read(chunk, payload)) {
      std::string text(payload.begin(), payload.end());
      if (process.known.insert(text).second) process.texts.push_back(std::move(text));
    } else if (header.type == ChunkType::kNames && reader.read(chunk, payload)) {
      process.names.emplace_back(payload.begin(), payload.end());
    }
  }
  const auto list = [](const char* name, const std::vector<std::string>& texts) {
    printf(",\"%s\":[", name);
    for (size_t i = 0; i < texts.size(); ++i) printf("%s%s", i == 0 ? "" : ",", json_string(texts[i]).c_str());
    printf("]");
  };
  printf("{\"processes\":[");
  const char* between = "";
  for (const auto& [number, process] : processes) {
    printf("%s{\"process\":%" PRIu32 ",\"parent\":%s,\"start\":%s", between, number,
           process.parent == kNone ? "null" : std::to_string(process.parent).c_str(),
           json_string(process.start).c_str());
    list("mappings", process.texts);
    list("names", process.names);
    printf("}");
    between = ",\n";
  }
  puts("]}");
  return fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace acre::trace
