#include "userspace/log/writer.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

constexpr std::size_t kBufferBytes = 256 << 10;

Bytes as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

LogWriter::LogWriter(const std::string& path, const Header& header)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (!file_) {
        fail(Exit::kUsage, "can't create the log {}: {}; name a writable file", path,
             std::strerror(errno));
    }
    Record record;
    *record.mutable_header() = header;
    append(record);
    flush();
}

void LogWriter::append(Bytes records) {
    const std::lock_guard lock(mutex_);
    append_locked(records);
}

void LogWriter::append(const Record& record) {
    const std::string bytes = framed(record);
    const std::lock_guard lock(mutex_);
    append_locked(as_bytes(bytes));
}

void LogWriter::flush() {
    const std::lock_guard lock(mutex_);
    flush_locked();
}

void LogWriter::close(const End& end) {
    Record record;
    *record.mutable_end() = end;
    append(record);
    const std::lock_guard lock(mutex_);
    flush_locked();
    // A pipe or a device can't be synced, and needn't be.
    if (::fdatasync(file_.get()) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) {
        fail(Exit::kRunFailed, "{}: can't bring the log to disk: {}; it may be cut short", path_,
             std::strerror(errno));
    }
    file_ = Descriptor();
}

std::uint64_t LogWriter::bytes() const {
    const std::lock_guard lock(mutex_);
    return written_ + buffer_.size();
}

void LogWriter::append_locked(Bytes bytes) {
    if (!file_) fail(Exit::kRunFailed, "{}: nothing can be written behind the End record", path_);
    if (buffer_.size() + bytes.size() > kBufferBytes) flush_locked();
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// After a failed write the buffer holds exactly what isn't in the file, so a later try continues
// in the middle of a record if need be and the log is whole again.
void LogWriter::flush_locked() {
    std::size_t done = 0;
    while (done < buffer_.size()) {
        const ssize_t n = ::write(file_.get(), buffer_.data() + done, buffer_.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            const int error = n < 0 ? errno : ENOSPC;
            buffer_.erase(0, done);
            fail(Exit::kRunFailed,
                 "{}: can't write the log: {}; the {} bytes written before it stay readable; free "
                 "space or record elsewhere",
                 path_, std::strerror(error), written_);
        }
        done += static_cast<std::size_t>(n);
        written_ += static_cast<std::uint64_t>(n);
    }
    buffer_.clear();
}

}  // namespace fairswitch
