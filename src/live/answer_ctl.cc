// The verb ctl: shows a node of the ctl tree as text.
#include <errno.h>
#include <string.h>

#include "control/ctl.h"
#include "control/nodes.h"
#include "control/print.h"
#include "live/value.h"
#include "live/verbs.h"
#include "tables/options.h"

namespace acre::live {

namespace {

using ctl::Kind;
using ctl::Node;
using ctl::Type;
using ctl::Value;

constexpr size_t kMostCtlMessage = 400;

bool begins_with(const char* name, const char* start) { return strncmp(name, start, strlen(start)) == 0; }

// Nodes that concern the calling thread, hand over addresses, or free what the program uses.
bool is_for_program_alone(const Node& node) {
  if (begins_with(node.name, "thread.") || begins_with(node.name, "tcache.")) return true;
  if (node.type == Type::kHooks || node.type == Type::kCounter || node.type == Type::kFunction) return true;
  if (node.kind == Kind::kMaker || node.kind == Kind::kLookup || node.kind == Kind::kQuery) return true;
  return strcmp(node.name, "arena.#.reset") == 0 || strcmp(node.name, "arena.#.destroy") == 0;
}

// A text that is written and never read is a path. The client's right to ask is checked before the file is written, and
// may be lost meanwhile. A client must therefore not choose a path.
bool writes_file(const Node& node) {
  return node.type == Type::kString && (node.kind == Kind::kOrder || node.kind == Kind::kSink);
}

bool is_readable(const Node& node) { return node.kind == Kind::kValue; }

const OptionInfo* option_of(const Node& node) {
  if (!begins_with(node.name, "opt.")) return nullptr;
  for (const OptionInfo& info : kOptionTable) {
    if (strcmp(info.name, node.name + strlen("opt.")) == 0) return &info;
  }
  return nullptr;
}

// Turns an error number of ctl::by_name into a message.
void explain(const Node& node, const Request& request, int error, Reply& reply) {
  Line<kMostCtlMessage> message;
  const OptionInfo* option = option_of(node);
  switch (error) {
    case EINVAL:
      message.add("'").add(request.value).add("' is out of the range of ").add(request.name);
      if (option != nullptr) {
        message.add(", which is from ").signed_decimal(option->least).add(" to ").signed_decimal(option->most);
      }
      break;
    case EAGAIN: message.add(request.name).add(": the system refused memory or a thread"); break;
    case ENOENT: message.add(request.name).add(": there is nothing of it; is the heap profiler on?"); break;
    case EPERM: message.add(request.name).add(" cannot be read or written so"); break;
    default: message.add(request.name).add(" failed: what the number or the value names may not be there"); break;
  }
  reply.refuse(message.c_str());
}

void refuse_value(const Node& node, const Request& request, const char* expected, Reply& reply) {
  Line<kMostCtlMessage> message;
  message.add("'").add(request.value).add("' does not fit ").add(request.name).add(", a ").add(ctl::name_of(node.type));
  reply.refuse(message.add(": expected is ").add(expected).c_str());
}

// Takes new figures, since a client expects those of now.
void take_figures(const Node& node) {
  uint64_t any = 1;
  if (begins_with(node.name, "stats.")) ctl::by_name("epoch", nullptr, nullptr, &any, sizeof any);
}

int read_node(const Node& node, const char* name, Value* value) {
  size_t size = ctl::size_of(node.type);
  return ctl::by_name(name, value, &size, nullptr, 0);
}

void show(const Node& node, const char* name, const Value* value, Reply& reply) {
  Output out(Reply::write, &reply);
  out.text().add("{\"name\":");
  add_json_text(out, name);
  out.text().add(",\"type\":\"").add(ctl::name_of(node.type)).add('"');
  if (value != nullptr) {
    out.text().add(",\"value\":");
    write_value(out, node.type, *value);
  }
  out.text().add("}\n");
}

void read_and_show(const Node& node, const Request& request, Reply& reply) {
  Value value{};
  if (const int error = read_node(node, request.name, &value)) return explain(node, request, error, reply);
  show(node, request.name, &value, reply);
}

void write_and_show(const Node& node, const Request& request, Reply& reply) {
  Value value{};
  if (const char* expected = read_value(node.type, request.value, &value)) {
    return refuse_value(node, request, expected, reply);
  }
  const int error = ctl::by_name(request.name, nullptr, nullptr, &value, ctl::size_of(node.type));
  if (error != 0) return explain(node, request, error, reply);
  if (is_readable(node)) return read_and_show(node, request, reply);
  show(node, request.name, nullptr, reply);
}

void do_and_show(const Node& node, const Request& request, Reply& reply) {
  if (const int error = ctl::by_name(request.name, nullptr, nullptr, nullptr, 0)) {
    return explain(node, request, error, reply);
  }
  show(node, request.name, nullptr, reply);
}

void refuse(const Request& request, const char* why, Reply& reply) {
  Line<kMostCtlMessage> message;
  reply.refuse(message.add(request.name).add(why).c_str());
}

void list_names(Reply& reply) {
  Output out(Reply::write, &reply);
  out.text().add("{\"names\":[");
  const char* before = "\n";
  for (unsigned i = 0; i < ctl::node_count(); ++i) {
    const Node& node = ctl::node(i);
    if (is_for_program_alone(node) || writes_file(node)) continue;
    out.text().add(before).add("{\"name\":\"").add(node.name).add("\",\"type\":\"").add(ctl::name_of(node.type));
    out.text().add("\",\"readable\":").add(is_readable(node) ? "true" : "false");
    out.text().add(",\"writable\":").add(node.writable ? "true" : "false").add('}');
    before = ",\n";
  }
  out.text().add("]}\n");
}

}  // namespace

void answer_ctl(const Request& request, Reply& reply) {
  if (*request.name == '\0') return list_names(reply);
  const Node* node = ctl::node_named(request.name);
  if (node == nullptr) {
    Line<kMostCtlMessage> message;
    return reply.refuse(message.add("there is no name '").add(request.name).add("'").c_str());
  }
  if (is_for_program_alone(*node)) return refuse(request, " can only be used by the program itself", reply);
  if (writes_file(*node)) {
    constexpr char kWhy[] = " says where a file is to be, which the program alone may: ask for `acre heap` or `acre leaks`";
    return refuse(request, kWhy, reply);
  }
  const bool given = *request.value != '\0';
  take_figures(*node);
  if (node->kind == Kind::kAction && given) return refuse(request, " takes no value", reply);
  if (given && !node->writable) return refuse(request, " cannot be changed", reply);
  if (given) return write_and_show(*node, request, reply);
  if (is_readable(*node)) return read_and_show(*node, request, reply);
  if (node->kind == Kind::kSink) return refuse(request, " needs a value", reply);
  do_and_show(*node, request, reply);
}

}  // namespace acre::live
