#include "userspace/workload/waker.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/lockfree/spsc_queue.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <ostream>
#include <thread>

#include "userspace/base/failure.h"
#include "userspace/workload/waker_text.h"

namespace fairswitch {
namespace {

using namespace std::chrono_literals;

// A minute of a 1 ms waker: longer than a printer is ever kept from running.
constexpr size_t kQueued = 65536;
constexpr auto kPrintEvery = 50ms;
// From the start of the threads to their first moment, so that all are asleep by then.
constexpr int64_t kLead_ns = 50'000'000;

int64_t now_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void sleep_to(int64_t moment_ns) {
    const timespec until{moment_ns / 1'000'000'000, moment_ns % 1'000'000'000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

// What a thread hands over: a sample, or a stretch of skipped periods (ran_ns 0).
struct Event {
    uint64_t period;
    int64_t expected_ns;
    int64_t ran_ns;
    uint64_t skipped;
};

class Measuring {
  public:
    Measuring(const WakerOptions& options, uint32_t number, int64_t begin_ns,
              const std::atomic<bool>& stop)
        : options_(options),
          number_(number),
          begin_ns_(begin_ns),
          end_ns_(options.seconds > 0 ? begin_ns + static_cast<int64_t>(options.seconds * 1e9) : 0),
          stop_(stop),
          thread_([this] { run(); }) {}

    ~Measuring() {
        if (thread_.joinable()) thread_.join();
    }

    bool done() const { return done_.load(std::memory_order_acquire); }

    // Throws what kept the thread from measuring.
    void check() const {
        if (done() && error_) std::rethrow_exception(error_);
    }

    void print_events(std::ostream& out) {
        if (!told_ && ready_.load(std::memory_order_acquire)) print_head(out);
        Event event{};
        while (queue_.pop(event)) {
            if (event.skipped)
                out << waker_skip_line(number_, event.period, event.skipped);
            else
                out << waker_line({number_, event.period, event.expected_ns, event.ran_ns});
        }
        const uint64_t dropped = dropped_.load(std::memory_order_relaxed);
        if (dropped != dropped_told_)
            out << waker_dropped_line(number_, dropped - dropped_told_);
        dropped_told_ = dropped;
    }

    // After done() only.
    void print_end(std::ostream& out) const {
        out << waker_end_line({number_, slept_, skipped_, dropped_.load()});
    }

  private:
    void run() {
        try {
            prepare();
            ready_.store(true, std::memory_order_release);
            measure();
        } catch (...) {
            error_ = std::current_exception();
        }
        done_.store(true, std::memory_order_release);
    }

    void prepare() {
        if (!options_.cpus.empty()) pin_to({options_.cpus[number_ % options_.cpus.size()]});
        set_attributes(options_.attributes);
        if (options_.slack_ns) set_timer_slack(*options_.slack_ns);
        found_ = read_attributes();
        slack_ns_ = read_timer_slack();
        tid_ = gettid();
    }

    void measure() {
        const auto interval = static_cast<int64_t>(options_.interval_ns);
        // Threads are spread over the interval, as wakers of different programs are.
        int64_t moment = begin_ns_ + number_ * interval / options_.threads;
        for (uint64_t period = 0; !over(moment); ++period, moment += interval) {
            const int64_t ready = now_ns(CLOCK_MONOTONIC);
            if (ready >= moment) {
                const int64_t count = within_end((ready - moment) / interval + 1, moment);
                push({period, 0, 0, static_cast<uint64_t>(count)});
                skipped_ += count;
                period += count;
                moment += count * interval;
                if (over(moment)) break;
            }
            sleep_to(moment);
            const int64_t ran = now_ns(CLOCK_MONOTONIC);
            ++slept_;
            push({period, moment, ran, 0});
            work(ran);
        }
    }

    // Of `count` periods from that moment on, those that begin before the end.
    int64_t within_end(int64_t count, int64_t moment) const {
        if (end_ns_ == 0) return count;
        const auto interval = static_cast<int64_t>(options_.interval_ns);
        return std::min(count, (end_ns_ - moment + interval - 1) / interval);
    }

    bool over(int64_t moment) const {
        return stop_.load(std::memory_order_relaxed) || (end_ns_ != 0 && moment >= end_ns_);
    }

    void work(int64_t ran) const {
        if (options_.busy_ns == 0) return;
        const clockid_t clock =
            options_.busy_is_cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
        const int64_t from = options_.busy_is_cpu_time ? now_ns(clock) : ran;
        while (now_ns(clock) - from < static_cast<int64_t>(options_.busy_ns)) {
        }
    }

    void push(const Event& event) {
        if (!queue_.push(event)) dropped_.fetch_add(1, std::memory_order_relaxed);
    }

    void print_head(std::ostream& out) {
        out << fmt::format(
            "# thread {} tid {} policy {} nice {} priority {} slice_ns {} slack_ns {}\n"
            "# thread {} interval_ns {} busy_ns {}{}\n",
            number_, tid_, policy_name(found_.policy), found_.nice, found_.priority,
            found_.slice_ns, slack_ns_, number_, options_.interval_ns, options_.busy_ns,
            options_.busy_is_cpu_time ? " (CPU time)" : "");
        told_ = true;
    }

    const WakerOptions& options_;
    const uint32_t number_;
    const int64_t begin_ns_;
    const int64_t end_ns_;
    const std::atomic<bool>& stop_;
    boost::lockfree::spsc_queue<Event, boost::lockfree::capacity<kQueued>> queue_;
    std::atomic<uint64_t> dropped_{0};
    uint64_t dropped_told_ = 0;
    uint64_t slept_ = 0;
    uint64_t skipped_ = 0;
    // Written before `ready_`, read after it.
    TaskAttributes found_;
    uint64_t slack_ns_ = 0;
    pid_t tid_ = 0;
    bool told_ = false;
    std::exception_ptr error_;
    std::atomic<bool> ready_{false};
    std::atomic<bool> done_{false};
    std::thread thread_;  // last: it uses all of the above
};

}  // namespace

void run_waker(const WakerOptions& options, const std::atomic<bool>& stop, std::ostream& out) {
    out << kWakerHead << "\n" << std::flush;
    const int64_t begin = now_ns(CLOCK_MONOTONIC) + kLead_ns;
    // Threads also end when another of them couldn't begin.
    std::atomic<bool> ending{false};
    std::vector<std::unique_ptr<Measuring>> threads;
    for (uint32_t n = 0; n < options.threads; ++n)
        threads.push_back(std::make_unique<Measuring>(options, n, begin, ending));
    std::exception_ptr error;
    for (bool running = true; running;) {
        std::this_thread::sleep_for(kPrintEvery);
        if (stop.load()) ending = true;
        running = false;
        for (const auto& thread : threads) {
            const bool done = thread->done();
            thread->print_events(out);
            running |= !done;
            try {
                thread->check();
            } catch (...) {
                error = std::current_exception();
                ending = true;
            }
        }
        out << std::flush;
    }
    if (error) std::rethrow_exception(error);
    for (const auto& thread : threads) {
        thread->print_events(out);
        thread->print_end(out);
    }
    out << std::flush;
    if (!out) fail(Exit::kRunFailed, "the samples can't be written: is the disk full?");
}

}  // namespace fairswitch
