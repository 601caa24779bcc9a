// acre-test: libs=pthread
// Blocks flow from producers over a middle to consumers, in batches: every free is a remote one.
#include <condition_variable>
#include <deque>
#include <mutex>

#include "stress.h"

namespace {

using Batch = std::vector<stress::Block>;

// A bounded queue; closed when its last writer leaves.
class Queue {
  public:
    explicit Queue(int writers) : writers_(writers) {}

    void put(Batch batch) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return batches_.size() < 8; });
        batches_.push_back(std::move(batch));
        changed_.notify_all();
    }

    bool get(Batch &batch) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !batches_.empty() || writers_ == 0; });
        if (batches_.empty()) return false;
        batch = std::move(batches_.front());
        batches_.pop_front();
        changed_.notify_all();
        return true;
    }

    void leave() {
        const std::lock_guard<std::mutex> lock(mutex_);
        writers_--;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Batch> batches_;
    int writers_;
};

void produce(Queue &out, stress::Random random, std::size_t operations) {
    while (operations > 0) {
        Batch batch(std::min<std::size_t>(operations, 1 + random.below(200)));
        // A batch of one size each, as programs do it, or of any.
        const std::size_t size = random.size(3, 13);
        const bool uniform = random.one_in(2);
        for (auto &block : batch) block = stress::take_any(random, uniform ? size : random.size(3, 10));
        operations -= batch.size();
        out.put(std::move(batch));
    }
    out.leave();
}

// Frees a part, allocates another part, and sends all of it on.
void transform(Queue &in, Queue &out, stress::Random random) {
    Batch batch;
    while (in.get(batch)) {
        for (auto &block : batch) {
            stress::check(block);
            if (!random.one_in(3)) continue;
            stress::give_back(block);
            block = stress::take_any(random, random.size(3, 10));
        }
        out.put(std::move(batch));
    }
    out.leave();
}

void consume(Queue &in, stress::Random random) {
    Batch batch;
    while (in.get(batch)) {
        // Shuffled, so that frees hop between runs.
        for (std::size_t i = batch.size(); i > 1; i--) std::swap(batch[i - 1], batch[random.below(i)]);
        for (const auto &block : batch) stress::give_back(block);
    }
}

}  // namespace

int main(int argc, char **argv) {
    const stress::Arguments arguments(argc, argv, 1200000);
    constexpr int kEach = 2;
    Queue first(kEach), second(kEach);
    stress::run_threads(3 * kEach, [&](std::size_t thread) {
        const stress::Random random(arguments.seed * 100 + thread);
        if (thread < kEach) {
            produce(first, random, arguments.operations / kEach);
        } else if (thread < 2 * kEach) {
            transform(first, second, random);
        } else {
            consume(second, random);
        }
    });
    return 0;
}
