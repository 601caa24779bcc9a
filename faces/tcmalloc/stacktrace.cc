#include <gperftools/stacktrace.h>
#include <unwind.h>

namespace {

struct Walk {
  void** addresses;
  int* sizes;  // or null
  int most;
  int skip;
  int depth = 0;
  _Unwind_Word below = 0;  // where the frame below the one at hand ends
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  const _Unwind_Word end = _Unwind_GetCFA(context);
  if (walk.sizes != nullptr && walk.depth > 0) walk.sizes[walk.depth - 1] = static_cast<int>(end - walk.below);
  walk.below = end;
  if (walk.skip-- > 0) return _URC_NO_REASON;
  if (walk.depth == walk.most) return _URC_END_OF_STACK;
  walk.addresses[walk.depth] = reinterpret_cast<void*>(_Unwind_GetIP(context));
  if (walk.sizes != nullptr) walk.sizes[walk.depth] = 0;
  ++walk.depth;
  return _URC_NO_REASON;
}

// Part of each function below, whose own frame is the first.
__attribute__((always_inline)) inline int trace(void** addresses, int* sizes, int most, int skip) {
  Walk walk{addresses, sizes, most, skip + 1};
  _Unwind_Backtrace(step, &walk);
  return walk.depth;
}

}  // namespace

int GetStackTrace(void** result, int max_depth, int skip_count) {
  return trace(result, nullptr, max_depth, skip_count);
}
int GetStackFrames(void** result, int* sizes, int max_depth, int skip_count) {
  return trace(result, sizes, max_depth, skip_count);
}
int GetStackTraceWithContext(void** result, int max_depth, int skip_count, const void*) {
  return trace(result, nullptr, max_depth, skip_count);
}
int GetStackFramesWithContext(void** result, int* sizes, int max_depth, int skip_count, const void*) {
  return trace(result, sizes, max_depth, skip_count);
}
