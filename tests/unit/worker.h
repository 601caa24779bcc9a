#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace acre::test {

// A thread that does as it is told and otherwise sleeps.
class Worker {
 public:
  Worker() : thread_([this] { work(); }) {}
  ~Worker() {
    run([this] { done_ = true; });
    thread_.join();
  }

  // Runs the task in the thread and returns when it is done.
  void run(const std::function<void()>& task) {
    std::unique_lock lock(mutex_);
    task_ = &task;
    changed_.notify_all();
    changed_.wait(lock, [this] { return task_ == nullptr; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (!done_) {
      changed_.wait(lock, [this] { return task_ != nullptr; });
      (*task_)();
      task_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* task_ = nullptr;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace acre::test
