#include "live/authority.h"

#include <sys/auxv.h>

#include "os/socket.h"

namespace acre::live {

namespace {

constinit uint32_t g_owner = os::kNoUser;

}  // namespace

void settle_owner() { g_owner = static_cast<uint32_t>(getauxval(AT_UID)); }
uint32_t owner() { return g_owner; }

const char* why_nobody_may_ask() {
  const os::Ids user = os::user_ids();
  if (!user.agree() || !os::group_ids().agree()) {
    return "the process has more than one user or group id now (real, effective, saved): it answers nobody";
  }
  if (user.real != g_owner || g_owner == os::kNoUser) {
    return "the process has changed its user since it started: it answers nobody";
  }
  if (!os::is_dumpable()) return "the process is not dumpable, by its own will or for a change of its ids: it answers nobody";
  return nullptr;
}

const char* why_not(int client) {
  const uint32_t peer = os::user_of_peer(client);
  if (peer != 0 && peer != g_owner) return "only the user of this process and root may ask it";
  if (const char* why = why_nobody_may_ask()) return why;
  if (peer != 0 && os::has_capabilities()) return "the process has capabilities, which its user need not have: only root may ask it";
  return nullptr;
}

}  // namespace acre::live
