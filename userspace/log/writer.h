// Writes a decision log (*.fsl): Header, the rings' records as they are, End.
//
// What is buffered reaches the file after a second at most, so that little is lost with the
// process. Packed, each such piece is a zstd frame of its own: a file that is cut short loses no
// more than its last frame.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "proto/record.pb.h"
#include "userspace/log/descriptor.h"
#include "userspace/log/overlay.h"

struct ZSTD_CCtx_s;

namespace fairswitch {

// Makes a write to a pipe without reader, or beyond the limit of a file's size (ulimit -f), an
// error of the write instead of the end of the process. Call it before any log is written.
void ignore_write_signals();
// As they were, for a child before it executes something else.
void restore_write_signals();

// Safe to call from several threads. A write that fails throws (no space, with the path and what
// was written so far) and the whole records before it stay readable.
class LogWriter {
  public:
    enum class Packing { kPlain, kZstd };

    // Replaces an existing file; "-" is standard output.
    LogWriter(const std::string& path, const Header& header, Packing packing = Packing::kPlain);

    // Whole records, verbatim.
    void append(Bytes records);
    // A record that isn't the kernel's, such as a Sample.
    void append(const Record& record);
    // Pushes what is buffered to the file.
    void flush();
    // The same if something has been buffered for a second. Call it now and then.
    void flush_if_due();
    // The End record, and the file is on disk. Nothing can be appended afterwards.
    void close(const End& end);

    // In the file and on the way there.
    std::uint64_t bytes() const;
    const std::string& path() const { return path_; }

  private:
    using Clock = std::chrono::steady_clock;
    struct FreeContext {
        void operator()(ZSTD_CCtx_s* context) const;
    };

    void append_locked(Bytes bytes);
    void flush_locked();
    void pack();
    void write_out();

    const std::string path_;
    mutable std::mutex mutex_;
    Descriptor file_;
    std::unique_ptr<ZSTD_CCtx_s, FreeContext> context_;  // null: plain
    std::string buffer_;                                 // records
    std::string pending_;                                // bytes of the file, not yet written
    Clock::time_point due_;                              // of what is in the buffer
    std::uint64_t written_ = 0;
};

}  // namespace fairswitch
