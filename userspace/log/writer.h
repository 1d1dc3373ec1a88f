// Writes a decision log (*.fsl): Header, the rings' records as they are, End.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "proto/record.pb.h"
#include "userspace/log/descriptor.h"
#include "userspace/log/overlay.h"

namespace fairswitch {

// Safe to call from several threads. A write that fails throws (no space, with the path and what
// was written so far) and the whole records before it stay readable.
class LogWriter {
  public:
    // Replaces an existing file.
    LogWriter(const std::string& path, const Header& header);

    // Whole records, verbatim.
    void append(Bytes records);
    // A record that isn't the kernel's, such as a Sample.
    void append(const Record& record);
    // Pushes what is buffered to the file.
    void flush();
    // The End record, and the file is on disk. Nothing can be appended afterwards.
    void close(const End& end);

    std::uint64_t bytes() const;
    const std::string& path() const { return path_; }

  private:
    void append_locked(Bytes bytes);
    void flush_locked();

    const std::string path_;
    mutable std::mutex mutex_;
    Descriptor file_;
    std::string buffer_;
    std::uint64_t written_ = 0;
};

}  // namespace fairswitch
