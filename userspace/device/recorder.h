// Drains every ring into a log until told to stop, and keeps the books.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "proto/record.pb.h"
#include "userspace/device/device.h"
#include "userspace/device/flight.h"
#include "userspace/device/ring_reader.h"
#include "userspace/log/writer.h"

namespace fairswitch {

class Recorder {
  public:
    // The session and the log outlive the recorder.
    Recorder(Session& session, LogWriter& log, std::uint32_t kinds,
             std::uint32_t detail = FSW_DETAIL_FULL, std::optional<Flight> flight = {});
    ~Recorder();

    // Is handed the records as they come, on the recorder's thread. Before start().
    void observe(RingReader::Sink observer) { observer_ = std::move(observer); }
    // Forgets what the rings hold, switches recording on and drains on a thread of its own.
    void start();
    // Switches recording off, drains the rest, takes the books; then throws what the thread threw.
    void stop();

    // False when the thread has given up (disk full, session ended): time to stop().
    bool healthy() const { return !failed_.load(std::memory_order_acquire); }

    struct Live {
        std::uint64_t records = 0;
        std::uint64_t bytes = 0;
        std::uint64_t dropped = 0;
        std::uint64_t windows = 0;        // of a flight recording
        std::uint64_t short_windows = 0;  // of these, not as far back as asked for
    };
    Live live() const;

    // After stop(). Books of every CPU, and what doesn't add up: one line per CPU and kind where
    // produced != stored + dropped; empty when all is well.
    const std::vector<RingBooks>& books() const { return books_; }
    const std::string& violations() const { return violations_; }
    // The End record of this recording.
    End end_record(const std::string& reason) const;

  private:
    // Where a ring's books stood when recording began.
    struct Baseline {
        RingReader::Counts produced{};
        RingReader::Counts dropped{};
    };

    void map_rings();
    void take_baselines();
    void run();
    void drain_all();
    void collect();
    void collect_window();
    void write_window(const fsw_status& status);
    void write_window_mark(std::uint32_t id, std::uint64_t time_ns);
    void write_losses();
    void finish_flight();
    void wait_for_records();
    void publish_live();
    void take_books();
    void take_books_of(std::size_t ring);

    Session& session_;
    LogWriter& log_;
    RingReader::Sink observer_;
    const std::uint32_t kinds_;
    const std::uint32_t detail_;
    const std::optional<Flight> flight_;
    std::vector<RingMapping> rings_;
    std::vector<std::uint32_t> cpus_;  // of each ring
    std::vector<Baseline> baselines_;
    // Of a flight recording:
    std::vector<RingReader*> readers_;
    std::vector<std::uint64_t> overwritten_;       // per ring, when it was armed
    std::vector<RingReader::Counts> told_losses_;  // per ring, in the log already
    std::uint64_t lost_until_ns_ = 0;              // the rings are whole from then on
    bool window_written_ = false;  // and the rings not armed again
    std::vector<RingBooks> books_;
    std::string violations_;

    Descriptor stop_event_;
    std::thread thread_;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> failed_{false};
    std::exception_ptr error_;
    std::atomic<std::uint64_t> live_records_{0};
    std::atomic<std::uint64_t> live_bytes_{0};
    std::atomic<std::uint64_t> live_dropped_{0};
    std::atomic<std::uint64_t> live_windows_{0};
    std::atomic<std::uint64_t> live_short_windows_{0};
};

}  // namespace fairswitch
