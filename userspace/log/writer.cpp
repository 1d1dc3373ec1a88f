#include "userspace/log/writer.h"

#include <fcntl.h>
#include <signal.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

constexpr std::size_t kPlainBytes = 256 << 10;
// Greater frames pack better, and cost more when one is lost.
constexpr std::size_t kFrameBytes = 1 << 20;
constexpr std::chrono::milliseconds kMostDelay(1000);
// Records are so alike that higher levels gain little for their time.
constexpr int kLevel = 1;

Bytes as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

Descriptor create(const std::string& path) {
    Descriptor file(path == "-"
                        ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                        : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file) {
        fail(Exit::kUsage, "can't create the log {}: {}; name a writable file", path,
             std::strerror(errno));
    }
    return file;
}

}  // namespace

void ignore_write_signals() {
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
}

void restore_write_signals() {
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGXFSZ, SIG_DFL);
}

void LogWriter::FreeContext::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

LogWriter::LogWriter(const std::string& path, const Header& header, Packing packing)
    : path_(path == "-" ? "standard output" : path), file_(create(path)) {
    if (packing == Packing::kZstd) {
        context_.reset(ZSTD_createCCtx());
        if (!context_) fail(Exit::kRunFailed, "{}: no memory to pack the log", path_);
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
        ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
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

void LogWriter::flush_if_due() {
    const std::lock_guard lock(mutex_);
    if (!buffer_.empty() && Clock::now() >= due_) flush_locked();
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
    return written_ + pending_.size() + buffer_.size();
}

void LogWriter::append_locked(Bytes bytes) {
    if (!file_) fail(Exit::kRunFailed, "{}: nothing can be written behind the End record", path_);
    const std::size_t most = context_ ? kFrameBytes : kPlainBytes;
    if (!buffer_.empty() && buffer_.size() + bytes.size() > most) flush_locked();
    if (buffer_.empty()) due_ = Clock::now() + kMostDelay;
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void LogWriter::flush_locked() {
    if (context_) {
        pack();
    } else if (pending_.empty()) {
        pending_.swap(buffer_);
    } else {
        pending_ += buffer_;
    }
    buffer_.clear();
    write_out();
}

// The buffer as a frame.
void LogWriter::pack() {
    if (buffer_.empty()) return;
    const std::size_t before = pending_.size();
    pending_.resize(before + ZSTD_compressBound(buffer_.size()));
    const std::size_t packed =
        ZSTD_compress2(context_.get(), pending_.data() + before, pending_.size() - before,
                       buffer_.data(), buffer_.size());
    if (ZSTD_isError(packed)) {
        pending_.resize(before);
        fail(Exit::kRunFailed, "{}: can't pack the log: {}; record without --zstd", path_,
             ZSTD_getErrorName(packed));
    }
    pending_.resize(before + packed);
}

// After a failed write `pending_` holds exactly what isn't in the file, so a later try continues in
// the middle of a record if need be and the log is whole again.
void LogWriter::write_out() {
    std::size_t done = 0;
    while (done < pending_.size()) {
        const ssize_t n = ::write(file_.get(), pending_.data() + done, pending_.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            const int error = n < 0 ? errno : ENOSPC;
            pending_.erase(0, done);
            fail(Exit::kRunFailed,
                 "{}: can't write the log: {}; the {} bytes written before it stay readable; free "
                 "space or record elsewhere",
                 path_, std::strerror(error), written_);
        }
        done += static_cast<std::size_t>(n);
        written_ += static_cast<std::uint64_t>(n);
    }
    pending_.clear();
}

}  // namespace fairswitch
