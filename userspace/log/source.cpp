#include "userspace/log/source.h"

#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

constexpr std::size_t kPackedBytes = 128 << 10;
constexpr unsigned char kMagic[LogSource::kMagicBytes] = {0x28, 0xb5, 0x2f, 0xfd};
// A frame that wants a greater window than this isn't ours, and could take all memory.
constexpr int kMostWindowLog = 27;

}  // namespace

void LogSource::FreeContext::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

LogSource::LogSource(Descriptor file, std::string name)
    : name_(std::move(name)), file_(std::move(file)) {}

bool LogSource::starts_frame(std::span<const std::byte> bytes) {
    return bytes.size() >= kMagicBytes && std::memcmp(bytes.data(), kMagic, kMagicBytes) == 0;
}

void LogSource::unpack(std::span<const std::byte> bytes) {
    std::vector<std::byte> packed(bytes.begin(), bytes.end());
    packed.insert(packed.end(), packed_.begin() + static_cast<std::ptrdiff_t>(begin_),
                  packed_.begin() + static_cast<std::ptrdiff_t>(end_));
    consumed_ -= bytes.size();
    begin_ = 0;
    end_ = packed.size();
    packed.resize(std::max(packed.size(), kPackedBytes));
    packed_ = std::move(packed);
    if (!context_) {
        context_.reset(ZSTD_createDCtx());
        if (!context_) fail(Exit::kRunFailed, "{}: no memory to unpack the log", name_);
        ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kMostWindowLog);
    }
    mode_ = Mode::kFrame;
    frame_bytes_ = 0;
}

std::size_t LogSource::read_file(std::span<std::byte> to) {
    ssize_t n;
    do {
        n = ::read(file_.get(), to.data(), to.size());
    } while (n < 0 && errno == EINTR);
    if (n < 0) fail(Exit::kRunFailed, "{}: can't read the log: {}", name_, std::strerror(errno));
    return static_cast<std::size_t>(n);
}

// More packed bytes behind those that are there. False at the end of the file.
bool LogSource::fill() {
    if (begin_ == end_) begin_ = end_ = 0;
    if (end_ == packed_.size()) {
        std::copy(packed_.begin() + static_cast<std::ptrdiff_t>(begin_),
                  packed_.begin() + static_cast<std::ptrdiff_t>(end_), packed_.begin());
        end_ -= std::exchange(begin_, 0);
    }
    const std::size_t n = read_file(std::span(packed_).subspan(end_));
    end_ += n;
    return n > 0;
}

std::size_t LogSource::read(std::span<std::byte> to) {
    if (to.empty()) return 0;
    while (mode_ != Mode::kPlain) {
        if (mode_ == Mode::kBorder) {
            cross_border();
        } else if (const std::size_t n = read_frame(to)) {
            return n;
        }
    }
    return read_plain(to);
}

std::size_t LogSource::read_plain(std::span<std::byte> to) {
    std::size_t n = std::min(to.size(), end_ - begin_);
    if (n > 0) {
        std::copy_n(packed_.begin() + static_cast<std::ptrdiff_t>(begin_), n, to.begin());
        begin_ += n;
    } else {
        n = read_file(to);
    }
    consumed_ += n;
    return n;
}

// 0: nothing came out; the frame has ended or it is to be tried again.
std::size_t LogSource::read_frame(std::span<std::byte> to) {
    ZSTD_inBuffer in{packed_.data() + begin_, end_ - begin_, 0};
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    const std::size_t rest = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_isError(rest)) {
        corrupt_bytes_ = frame_bytes_ + (end_ - begin_);
        give_up();
        return 0;
    }
    begin_ += in.pos;
    consumed_ += in.pos;
    frame_bytes_ += in.pos;
    if (rest == 0) {
        mode_ = Mode::kBorder;
    } else if (out.pos == 0 && begin_ == end_ && !fill()) {
        torn_bytes_ = frame_bytes_;
        mode_ = Mode::kPlain;
    }
    return out.pos;
}

// What comes behind a frame: another one, plain records or nothing.
void LogSource::cross_border() {
    while (end_ - begin_ < kMagicBytes && fill()) {
    }
    const auto next = std::span(packed_).subspan(begin_, end_ - begin_);
    mode_ = starts_frame(next) ? Mode::kFrame : Mode::kPlain;
    frame_bytes_ = 0;
}

// The rest of the file is counted, nothing of it handed out.
void LogSource::give_up() {
    consumed_ += end_ - begin_;
    begin_ = end_ = 0;
    while (fill()) {
        corrupt_bytes_ += end_;
        consumed_ += end_;
        begin_ = end_ = 0;
    }
    mode_ = Mode::kPlain;
}

}  // namespace fairswitch
