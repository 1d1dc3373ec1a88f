#include "userspace/device/recorder.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>

#include "userspace/base/failure.h"
#include "userspace/device/atomics.h"

namespace fairswitch {
namespace {

// The kernel wakes the thread at its watermark; this bounds how stale the log is when little is
// recorded.
constexpr int kDrainPeriod_ms = 20;

bool counted(std::size_t kind) { return kind != FSW_KIND_LOST && kind != FSW_KIND_PAD; }

std::uint64_t sum(const RingReader::Counts& counts) {
    std::uint64_t total = 0;
    for (const std::uint64_t count : counts) total += count;
    return total;
}

}  // namespace

Recorder::Recorder(Session& session, LogWriter& log, std::uint32_t kinds)
    : session_(session), log_(log), kinds_(kinds), stop_event_(::eventfd(0, EFD_CLOEXEC)) {
    if (!stop_event_) fail(Exit::kRunFailed, "can't make an eventfd: {}", std::strerror(errno));
    map_rings();
}

Recorder::~Recorder() {
    try {
        if (thread_.joinable()) stop();
    } catch (const std::exception&) {
        // Whoever wanted to know called stop().
    }
}

void Recorder::map_rings() {
    const fsw_info& info = session_.device().info();
    for (std::uint32_t cpu = 0; cpu < info.cpus; ++cpu) {
        rings_.emplace_back(session_.device().fd(), cpu, info.ring_bytes);
        cpus_.push_back(cpu);
    }
}

void Recorder::start() {
    for (RingMapping& ring : rings_) ring.reader().discard();
    take_baselines();
    session_.record(kinds_);
    session_.mark(MARKER_RECORD_BEGIN, 0);
    thread_ = std::thread([this] { run(); });
}

void Recorder::take_baselines() {
    baselines_.clear();
    for (const RingMapping& ring : rings_) {
        baselines_.push_back({ring.reader().produced(), ring.reader().dropped()});
    }
}

void Recorder::run() {
    try {
        while (!stopping_.load(std::memory_order_acquire)) {
            session_.check_alive();
            drain_all();
            wait_for_records();
        }
    } catch (...) {
        error_ = std::current_exception();
        failed_.store(true, std::memory_order_release);
    }
}

void Recorder::wait_for_records() {
    pollfd events[] = {{session_.device().fd(), POLLIN, 0}, {stop_event_.get(), POLLIN, 0}};
    ::poll(events, std::size(events), kDrainPeriod_ms);
}

void Recorder::drain_all() {
    for (RingMapping& ring : rings_) {
        ring.reader().drain([this](Bytes records) { log_.append(records); });
    }
    log_.flush_if_due();
    publish_live();
}

void Recorder::publish_live() {
    std::uint64_t records = 0;
    std::uint64_t dropped = 0;
    for (std::size_t i = 0; i < rings_.size(); ++i) {
        records += sum(rings_[i].reader().stored());
        dropped += sum(rings_[i].reader().dropped()) - sum(baselines_[i].dropped);
    }
    live_records_.store(records, std::memory_order_relaxed);
    live_dropped_.store(dropped, std::memory_order_relaxed);
    live_bytes_.store(log_.bytes(), std::memory_order_relaxed);
}

Recorder::Live Recorder::live() const {
    return {.records = live_records_.load(std::memory_order_relaxed),
            .bytes = live_bytes_.load(std::memory_order_relaxed),
            .dropped = live_dropped_.load(std::memory_order_relaxed)};
}

void Recorder::stop() {
    // A session that has ended records no more, and says so by refusing these.
    try {
        session_.mark(MARKER_RECORD_END, 0);
        session_.record(0);
    } catch (const Failure&) {
        if (!error_) error_ = std::current_exception();
    }
    stopping_.store(true, std::memory_order_release);
    const std::uint64_t one = 1;
    if (::write(stop_event_.get(), &one, sizeof(one)) < 0) failed_.store(true);
    if (thread_.joinable()) thread_.join();
    try {
        drain_all();
    } catch (...) {
        if (!error_) error_ = std::current_exception();
    }
    take_books();
    if (error_) std::rethrow_exception(error_);
}

void Recorder::take_books() {
    books_.clear();
    violations_.clear();
    for (std::size_t ring = 0; ring < rings_.size(); ++ring) take_books_of(ring);
}

void Recorder::take_books_of(std::size_t ring) {
    const RingReader& reader = rings_[ring].reader();
    const RingReader::Counts produced = reader.produced();
    const RingReader::Counts dropped = reader.dropped();
    RingBooks& books = books_.emplace_back();
    books.set_cpu(cpus_[ring]);
    books.set_bytes(reader.bytes());
    for (std::size_t kind = 0; kind < produced.size(); ++kind) {
        const std::uint64_t offered = produced[kind] - baselines_[ring].produced[kind];
        const std::uint64_t lost = dropped[kind] - baselines_[ring].dropped[kind];
        const std::uint64_t stored = reader.stored()[kind];
        books.add_produced(offered);
        books.add_dropped(lost);
        books.add_stored(stored);
        if (counted(kind) && offered != stored + lost) {
            violations_ +=
                fmt::format("CPU {}, kind {}: {} produced, but {} stored and {} dropped\n",
                            cpus_[ring], kind, offered, stored, lost);
        }
    }
}

End Recorder::end_record(const std::string& reason) const {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    End end;
    end.set_time_ns(static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                    static_cast<std::uint64_t>(now.tv_nsec));
    end.set_reason(reason);
    for (const RingBooks& books : books_) *end.add_rings() = books;
    return end;
}

}  // namespace fairswitch
