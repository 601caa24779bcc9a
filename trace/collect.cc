// acre-trace collect: the program as a child, signals, and the exit code.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collector.h"
#include "say.h"

namespace acre::trace {

namespace {

constexpr int kNotExecutable = 126,
              kNotFound = 127;  // exit codes of programs that could not be started, as shells have
constexpr int kPassedOn[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
constexpr int kFromTerminal[] = {SIGINT, SIGQUIT};  // which the program gets, too

Collector* g_collector;
volatile sig_atomic_t g_stop;   // a signal asks for the end of the recording
volatile sig_atomic_t g_child;  // the program's number while it runs

void on_signal(int number) {
  const int saved = errno;
  if (number != SIGCHLD) {
    const bool is_from_terminal = number == SIGINT || number == SIGQUIT;
    if (g_child == 0) {
      g_stop = 1;
    } else if (!is_from_terminal) {
      kill(g_child, number);
    }
  }
  if (g_collector != nullptr) g_collector->interrupt();
  errno = saved;
}

struct Signals {
  sigset_t before;
  struct sigaction actions[NSIG];

  void take(bool attach) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    struct sigaction action{};
    action.sa_handler = on_signal;
    const auto handle = [&](int number) { sigaction(number, &action, &actions[number]); };
    for (const int number : kPassedOn) {
      if (!attach || number == SIGTERM || number == SIGHUP) handle(number);
    }
    for (const int number : kFromTerminal) handle(number);
    if (!attach) handle(SIGCHLD);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, &actions[SIGPIPE]);
    sigaction(SIGXFSZ, &action, &actions[SIGXFSZ]);  // a limit on the size of files is as a full disk
  }

  void give_back() {
    for (const int number : kPassedOn) sigaction(number, &actions[number], nullptr);
    for (const int number : {SIGINT, SIGQUIT, SIGCHLD, SIGPIPE, SIGXFSZ}) sigaction(number, &actions[number], nullptr);
    sigprocmask(SIG_SETMASK, &before, nullptr);
  }
};

[[noreturn]] void become(const CollectOptions& options, const std::string& setting) {
  std::vector<char*> words;
  for (const std::string& word : options.program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  if (!options.preload.empty()) setenv("LD_PRELOAD", options.preload.c_str(), 1);
  const std::string conf = options.conf + (options.conf.empty() ? "" : ",") + "record:" + setting;
  setenv("ACRE_CONF", conf.c_str(), 1);
  execvp(words[0], words.data());
  const int code = errno == ENOENT ? kNotFound : kNotExecutable;
  say("record: '%s' cannot be executed: %s", words[0], strerror(errno));
  _exit(code);
}

int end_as(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const int number = WTERMSIG(status);
  rlimit core;
  if (getrlimit(RLIMIT_CORE, &core) == 0) {
    core.rlim_cur = 0;  // the core is the program's
    setrlimit(RLIMIT_CORE, &core);
  }
  if (number != SIGKILL) signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  kill(getpid(), number);
  return 128 + number;
}

// Whether the program has ended by now.
bool reap(pid_t child, int& status, bool wait) {
  pid_t ended;
  do {
    ended = waitpid(child, &status, wait ? 0 : WNOHANG);
  } while (wait && ended < 0 && errno == EINTR);
  if (ended != child) return false;
  g_child = 0;
  return true;
}

}  // namespace

int collect(const CollectOptions& options) {
  Signals signals;
  signals.take(options.attach);
  Collector collector(options);
  if (!collector.begin()) return 1;
  g_collector = &collector;
  const std::string setting = collector.setting();
  pid_t child = 0;
  int status = 0;
  if (options.attach) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    printf("%s\n", setting.c_str());
    fflush(stdout);
  } else {
    child = fork();
    if (child < 0) {
      say("record: cannot start a process: %s", strerror(errno));
      return 1;
    }
    if (child == 0) {
      g_collector = nullptr;
      signals.give_back();
      become(options, setting);
    }
    g_child = child;
    collector.set_program(child);
  }
  sigprocmask(SIG_SETMASK, &signals.before, nullptr);
  bool runs = child != 0;
  while (!collector.is_over() && g_stop == 0) {
    collector.turn();
    if (runs && reap(child, status, false)) {
      runs = false;
      collector.program_ended(status);
    }
  }
  collector.finish();
  const bool was_refused =  // and somebody has said so
      options.attach ||
      (!runs && WIFEXITED(status) && (WEXITSTATUS(status) == kNotExecutable || WEXITSTATUS(status) == kNotFound));
  if (!was_refused || collector.has_seen_any()) collector.report();
  if (runs) reap(child, status, true);
  g_collector = nullptr;
  if (options.attach) return collector.has_failed() ? 1 : 0;
  return end_as(status);
}

}  // namespace acre::trace
