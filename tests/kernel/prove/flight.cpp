// A flight recording: each window around its triggers, nothing in between.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tests/kernel/prove/proofs.h"
#include "userspace/base/failure.h"

namespace fairswitch::prove {

namespace {

// Between the time taken for a freeze and the moment at which every writer knows: a few turns of the
// emulator, whose CPUs take turns, where a machine needs microseconds.
constexpr std::uint64_t kFreeze_ns = 10'000'000;
constexpr std::uint32_t kCollector = ~std::uint32_t{0};

struct WindowTimes {
    std::uint64_t number = 0;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::vector<model::Marker> triggers;
};

class FlightProof {
  public:
    explicit FlightProof(const OrderedLog& log) : log_(log), trigger_(log.header.trigger()) {
        for (const model::Record& record : log.unordered) add(record);
        for (const auto& [cpu, records] : log.by_rq) {
            for (const model::Record& record : records) add(record);
        }
        std::ranges::sort(wakes_, {}, [](const model::Wake& w) { return w.stamp.time_ns; });
    }

    void run() {
        find_windows();
        if (windows_.size() < 2) {
            fail(Exit::kRunFailed, "{} windows; expected at least 2", windows_.size());
        }
        for (const WindowTimes& window : windows_) check(window);
        check_in_between();
        check_lost();
        if (decided_ == 0) fail(Exit::kRunFailed, "no trigger's wakee was decided about");
        fmt::print("{} windows, {} triggers, {} with a decision about the wakee, {} Losts\n",
                   windows_.size(), triggers_, decided_, losts_.size());
    }

  private:
    void add(const model::Record& record) {
        if (const auto* marker = std::get_if<model::Marker>(&record)) markers_.push_back(*marker);
        if (const auto* wake = std::get_if<model::Wake>(&record)) wakes_.push_back(*wake);
        if (const auto* s = std::get_if<model::Switch>(&record)) switches_.push_back(*s);
        if (const auto* lost = std::get_if<model::Lost>(&record)) losts_.push_back(*lost);
        if (const auto* d = std::get_if<model::Decision>(&record)) decisions_.push_back(*d);
        const bool timeless = std::holds_alternative<model::Task>(record) ||
                              std::holds_alternative<model::Lost>(record);
        if (!timeless && model::stamp_of(record) != nullptr) stamps_.push_back(*model::stamp_of(record));
    }

    // The log's own order of the collector's marks tells the windows.
    void find_windows() {
        for (const model::Marker& marker : markers_) {
            if (marker.stamp.cpu != kCollector) continue;
            if (marker.id == MARKER_WINDOW_BEGIN) {
                windows_.push_back({marker.value, marker.stamp.time_ns, 0, {}});
            } else if (windows_.empty() || windows_.back().number != marker.value) {
                fail(Exit::kRunFailed, "window {} ends but didn't begin", marker.value);
            } else {
                windows_.back().end_ns = marker.stamp.time_ns;
            }
        }
        for (const model::Marker& marker : markers_) {
            if (marker.id != MARKER_TRIGGER) continue;
            window_at(marker.stamp.time_ns, "a trigger").triggers.push_back(marker);
        }
    }

    WindowTimes& window_at(std::uint64_t time_ns, const char* what) {
        for (WindowTimes& window : windows_) {
            // What a ring had older than the window's begin isn't whole, but may be there.
            const std::uint64_t earliest = earliest_of(window);
            if (time_ns >= earliest && time_ns <= window.end_ns + kFreeze_ns) return window;
        }
        std::string nearest;
        for (const WindowTimes& window : windows_) {
            if (window.begin_ns <= time_ns)
                nearest = fmt::format("window {} of {} to {}", window.number, window.begin_ns,
                                      window.end_ns);
        }
        fail(Exit::kRunFailed, "{} at {} is in no window; the last begun is {}", what, time_ns,
             nearest);
    }

    std::uint64_t earliest_of(const WindowTimes& window) const {
        if (window.triggers.empty()) return window.begin_ns;
        std::uint64_t first = window.triggers.front().stamp.time_ns;
        for (const model::Marker& trigger : window.triggers) {
            first = std::min(first, trigger.stamp.time_ns);
        }
        return std::min(window.begin_ns, first - trigger_.before_ns());
    }

    void check(const WindowTimes& window) {
        if (window.triggers.empty()) {
            fail(Exit::kRunFailed, "window {} has no trigger", window.number);
        }
        if (window.begin_ns >= window.end_ns) {
            fail(Exit::kRunFailed, "window {} ends before it begins", window.number);
        }
        std::uint64_t first = ~std::uint64_t{0};
        for (const model::Marker& trigger : window.triggers) {
            check_trigger(trigger);
            first = std::min(first, trigger.stamp.time_ns);
        }
        if (window.end_ns < first + trigger_.after_ns()) {
            fail(Exit::kRunFailed, "window {} ends {} ns behind its trigger", window.number,
                 window.end_ns - first);
        }
    }

    // The latency is that from the wakee's last Wake to the Switch at the trigger.
    void check_trigger(const model::Marker& trigger) {
        ++triggers_;
        if (trigger.value <= trigger_.latency_ns()) {
            fail(Exit::kRunFailed, "a trigger at {} ns, {} were asked for", trigger.value,
                 trigger_.latency_ns());
        }
        const auto in = std::ranges::find_if(switches_, [&](const model::Switch& s) {
            return s.stamp.time_ns == trigger.stamp.time_ns && s.stamp.cpu == trigger.stamp.cpu;
        });
        if (in == switches_.end()) fail(Exit::kRunFailed, "a trigger without its Switch");
        const std::uint64_t woken = trigger.stamp.time_ns - trigger.value;
        const auto wake = std::ranges::find_if(wakes_, [&](const model::Wake& w) {
            return w.stamp.time_ns == woken && w.pid == in->next_pid;
        });
        if (wake == wakes_.end()) {
            // It woke before the window, or while the rings were frozen.
            return;
        }
        decided_ += std::ranges::any_of(decisions_, [&](const model::Decision& d) {
            return d.wakee_pid == in->next_pid && d.stamp.time_ns + 1000 >= woken &&
                   d.stamp.time_ns <= trigger.stamp.time_ns;
        });
    }

    void check_in_between() {
        for (const model::Stamp& stamp : stamps_) window_at(stamp.time_ns, "a record");
    }

    // Frozen is only what lies behind a window.
    void check_lost() {
        if (losts_.empty()) fail(Exit::kRunFailed, "no Lost tells of the frozen time");
        for (const model::Lost& lost : losts_) {
            const bool behind = std::ranges::any_of(windows_, [&](const WindowTimes& window) {
                return lost.first_ns + kFreeze_ns >= window.end_ns;
            });
            if (!behind || lost.last_ns < lost.first_ns) {
                fail(Exit::kRunFailed, "a Lost of {}..{} lies behind no window", lost.first_ns,
                     lost.last_ns);
            }
        }
    }

    const OrderedLog& log_;
    const Trigger& trigger_;
    std::vector<WindowTimes> windows_;
    std::vector<model::Marker> markers_;
    std::vector<model::Wake> wakes_;
    std::vector<model::Switch> switches_;
    std::vector<model::Decision> decisions_;
    std::vector<model::Lost> losts_;
    std::vector<model::Stamp> stamps_;
    std::uint64_t triggers_ = 0;
    std::uint64_t decided_ = 0;
    std::uint64_t unknown_wakes_ = 0;
};

}  // namespace

void flight(const OrderedLog& log) {
    if (!log.end || !log.header.has_trigger()) {
        fail(Exit::kRunFailed, "the log is no flight recording, or has no End record");
    }
    FlightProof(log).run();
}

}  // namespace fairswitch::prove
