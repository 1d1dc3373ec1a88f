#include "userspace/device/recorder.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstring>

#include "userspace/base/beat.h"
#include "userspace/base/failure.h"
#include "userspace/device/atomics.h"

namespace fairswitch {
namespace {

// The kernel wakes the thread at its watermark; this bounds how stale the log is when little is
// recorded.
constexpr std::chrono::milliseconds kDrainPeriod(20);
// Between windows only the session's life is looked after.
constexpr std::chrono::milliseconds kAlivePeriod(500);

std::uint64_t monotonic_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

bool counted(std::size_t kind) { return kind != FSW_KIND_LOST && kind != FSW_KIND_PAD; }

std::uint64_t sum(const RingReader::Counts& counts) {
    std::uint64_t total = 0;
    for (const std::uint64_t count : counts) total += count;
    return total;
}

}  // namespace

Recorder::Recorder(Session& session, LogWriter& log, std::uint32_t kinds, std::uint32_t detail,
                   std::optional<Flight> flight)
    : session_(session),
      log_(log),
      kinds_(kinds),
      detail_(detail),
      flight_(flight),
      stop_event_(::eventfd(0, EFD_CLOEXEC)) {
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
    for (RingMapping& ring : rings_) {
        ring.reader().discard();
        readers_.push_back(&ring.reader());
    }
    take_baselines();
    if (flight_) {
        session_.trigger(flight_->latency_ns, flight_->after_ms());
        lost_until_ns_ = monotonic_ns();
    }
    session_.record(kinds_, detail_);
    session_.mark(MARKER_RECORD_BEGIN, 0);
    thread_ = std::thread([this] { run(); });
}

void Recorder::take_baselines() {
    baselines_.clear();
    overwritten_.clear();
    told_losses_.clear();
    for (const RingMapping& ring : rings_) {
        baselines_.push_back({ring.reader().produced(), ring.reader().dropped()});
        overwritten_.push_back(overwritten_sum(ring.reader()));
        told_losses_.push_back(ring.reader().dropped());
    }
}

void Recorder::run() {
    try {
        while (!stopping_.load(std::memory_order_acquire)) {
            session_.check_alive();
            collect();
            wait_for_records();
        }
    } catch (...) {
        error_ = std::current_exception();
        failed_.store(true, std::memory_order_release);
    }
}

void Recorder::wait_for_records() {
    const short wanted = flight_ ? POLLPRI : POLLIN;
    pollfd events[] = {{session_.device().fd(), wanted, 0}, {stop_event_.get(), POLLIN, 0}};
    poll_until(events, next_beat(flight_ ? kAlivePeriod : kDrainPeriod));
}

void Recorder::collect() {
    if (flight_) {
        collect_window();
    } else {
        drain_all();
    }
}

// Sleeps between windows; the rings are read only while frozen.
void Recorder::collect_window() {
    const fsw_status status = session_.device().status();
    if (status.flight != FSW_FLIGHT_FROZEN) return;
    write_window(status);
    window_written_ = true;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
        overwritten_[i] = overwritten_sum(*readers_[i]);
    }
    if (!session_.rearm()) return;  // stop() does the rest
    window_written_ = false;
    write_losses();
    log_.flush();
    publish_live();
}

void Recorder::write_window(const fsw_status& status) {
    const std::uint64_t wanted = status.trigger_ns - std::min<std::uint64_t>(flight_->before_ns, status.trigger_ns);
    const std::uint64_t from = std::max({wanted, lost_until_ns_, whole_from(readers_, overwritten_)});
    live_windows_.fetch_add(1, std::memory_order_relaxed);
    if (from > wanted) live_short_windows_.fetch_add(1, std::memory_order_relaxed);
    write_window_mark(MARKER_WINDOW_BEGIN, from);
    copy_window(readers_, wanted, [this](Bytes record) { log_.append(record); });
    write_window_mark(MARKER_WINDOW_END, status.frozen_ns != 0 ? status.frozen_ns : monotonic_ns());
}

// In the kernel's layout, though from no ring.
void Recorder::write_window_mark(std::uint32_t id, std::uint64_t time_ns) {
    fsw_marker_record record = FSW_RECORD_TEMPLATE(FSW_KIND_MARKER, marker, MARKER);
    record.body.stamp.time_ns = time_ns;
    record.body.stamp.cpu = record.body.stamp.rq_cpu = ~std::uint32_t{0};
    record.body.id = id;
    record.body.value = live_windows_.load(std::memory_order_relaxed);
    log_.append(std::as_bytes(std::span(&record, 1)));
}

// What each ring dropped while it was frozen, told where it happened.
void Recorder::write_losses() {
    for (std::size_t i = 0; i < readers_.size(); ++i) {
        const RingReader::Counts dropped = readers_[i]->dropped();
        RingReader::Counts fresh{};
        for (std::size_t kind = 0; kind < fresh.size(); ++kind) {
            fresh[kind] = dropped[kind] - told_losses_[i][kind];
        }
        told_losses_[i] = dropped;
        if (sum(fresh) == 0) continue;
        const RingReader::Loss loss = readers_[i]->loss();
        lost_until_ns_ = std::max(lost_until_ns_, loss.last_ns);
        fsw_lost_record record = FSW_RECORD_TEMPLATE(FSW_KIND_LOST, lost, LOST);
        record.body.stamp.time_ns = record.body.last_ns = loss.last_ns;
        record.body.first_ns = loss.first_ns;
        record.body.stamp.cpu = record.body.stamp.rq_cpu = readers_[i]->cpu();
        const auto count = [&](unsigned kind) { return static_cast<std::uint32_t>(fresh[kind]); };
        record.body.decisions = count(FSW_KIND_DECISION) + count(FSW_KIND_BRIEF);
        record.body.requeues = count(FSW_KIND_REQUEUE);
        record.body.delays = count(FSW_KIND_DELAY);
        record.body.wakes = count(FSW_KIND_WAKE);
        record.body.switches = count(FSW_KIND_SWITCH);
        record.body.tasks = count(FSW_KIND_TASK);
        record.body.swaps = count(FSW_KIND_SWAP);
        record.body.markers = count(FSW_KIND_MARKER);
        log_.append(std::as_bytes(std::span(&record, 1)));
    }
}

// Recording is off, so the rings are quiet, frozen or not. What triggered but wasn't collected yet
// still becomes a window.
void Recorder::finish_flight() {
    const fsw_status status = session_.device().status();
    if (!window_written_ && status.trigger_ns != 0) {
        write_window(status);
    } else if (!window_written_) {
        pass_all(readers_);
    }
    write_losses();
    publish_live();
}

void Recorder::drain_all() {
    for (RingMapping& ring : rings_) {
        ring.reader().drain([this](Bytes records) {
            log_.append(records);
            if (observer_) observer_(records);
        });
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
            .dropped = live_dropped_.load(std::memory_order_relaxed),
            .windows = live_windows_.load(std::memory_order_relaxed),
            .short_windows = live_short_windows_.load(std::memory_order_relaxed)};
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
        if (flight_) {
            finish_flight();
        } else {
            drain_all();
        }
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
    const RingReader::Counts filtered = reader.filtered();
    const RingReader::Counts passed = reader.passed();
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
        books.add_filtered(filtered[kind]);
        books.add_passed(passed[kind]);
        if (counted(kind) && offered != stored + lost + passed[kind]) {
            violations_ +=
                fmt::format("CPU {}, kind {}: {} produced, but {} stored, {} dropped, {} passed\n",
                            cpus_[ring], kind, offered, stored, lost, passed[kind]);
        }
    }
}

End Recorder::end_record(const std::string& reason) const {
    End end;
    end.set_time_ns(monotonic_ns());
    end.set_reason(reason);
    for (const RingBooks& books : books_) *end.add_rings() = books;
    return end;
}

}  // namespace fairswitch
