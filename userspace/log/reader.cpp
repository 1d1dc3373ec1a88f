#include "userspace/log/reader.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::uint32_t kMaxCpus = 1 << 16;
constexpr std::byte kHeaderTag{(Record::kHeaderFieldNumber << 3) | 2};

Descriptor open_log(const std::string& path) {
    const int fd = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                               : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fail(Exit::kUsage, "can't open the log {}: {}; expected a file of `fairswitch record`",
             path, std::strerror(errno));
    }
    return Descriptor(fd);
}

std::string hex(Bytes bytes) {
    std::string result;
    for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 16))) {
        result += fmt::format("{}{:02x}", result.empty() ? "" : " ", std::to_integer<int>(byte));
    }
    return result;
}

std::uint64_t sum(const model::Lost& lost) {
    return std::uint64_t{lost.decisions} + lost.requeues + lost.delays + lost.wakes +
           lost.switches + lost.tasks + lost.swaps + lost.markers;
}

}  // namespace

LogReader::LogReader(const std::string& path)
    : LogReader(open_log(path), path == "-" ? "standard input" : path) {}

LogReader::LogReader(Descriptor file, std::string name)
    : name_(std::move(name)), file_(std::move(file)), buffer_(kBufferBytes) {
    read_header();
}

Bytes LogReader::unread() const { return Bytes(buffer_).subspan(begin_, end_of_bytes_ - begin_); }

// Reads more behind what is unread. False at the end of the file.
bool LogReader::fill() {
    if (at_end_of_file_) return false;
    if (begin_ > 0) {
        std::copy(buffer_.begin() + begin_, buffer_.begin() + end_of_bytes_, buffer_.begin());
        end_of_bytes_ -= std::exchange(begin_, 0);
    }
    if (end_of_bytes_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
    ssize_t n;
    do {
        n = ::read(file_.get(), buffer_.data() + end_of_bytes_, buffer_.size() - end_of_bytes_);
    } while (n < 0 && errno == EINTR);
    if (n < 0) fail(Exit::kRunFailed, "{}: can't read the log: {}", name_, std::strerror(errno));
    at_end_of_file_ = n == 0;
    end_of_bytes_ += static_cast<std::size_t>(n);
    return n > 0;
}

// The log can't be followed further: counts why and hands out nothing more.
Bytes LogReader::stop(Badness why, std::uint64_t count) {
    if (count > 0) validity_.add(why, count);
    begin_ = end_of_bytes_;
    return {};
}

// The next whole record, prefix included; empty at the end.
Bytes LogReader::next_bytes() {
    while (true) {
        const Bytes rest = unread();
        const Framing frame = framing(rest);
        if (frame.prefix < 0) {
            std::uint64_t lost = rest.size();
            for (begin_ = end_of_bytes_; fill(); begin_ = end_of_bytes_) lost += unread().size();
            return stop(Badness::kFramingLost, lost);
        }
        const std::size_t whole = static_cast<std::size_t>(frame.prefix) + frame.length;
        if (frame.prefix > 0 && rest.size() >= whole) {
            begin_ += whole;
            consumed_ += whole;
            return rest.first(whole);
        }
        if (!fill()) return stop(Badness::kTornTail, rest.size());
    }
}

void LogReader::read_header() {
    while (unread().size() < 16 && fill()) {
    }
    const Bytes start = unread();
    if (start.empty()) {
        fail(Exit::kUsage, "{} is empty; expected a log of `fairswitch record`", name_);
    }
    const std::string begins = hex(start);
    const Framing frame = framing(start);
    const auto tag_at = static_cast<std::size_t>(frame.prefix);
    const bool foreign = frame.prefix < 0 ||
                         (frame.prefix > 0 && start.size() > tag_at && start[tag_at] != kHeaderTag);
    const Bytes bytes = foreign ? Bytes() : next_bytes();
    if (!foreign && bytes.empty()) {
        fail(Exit::kUsage,
             "{} ends inside its header; the recorder was stopped at once or the file was cut: "
             "record again or copy the file again",
             name_);
    }
    const Bytes payload = foreign ? bytes : bytes.subspan(tag_at);
    if (foreign || !scratch_.ParseFromArray(payload.data(), static_cast<int>(payload.size())) ||
        !scratch_.has_header()) {
        fail(Exit::kUsage,
             "{} is no fairswitch log: it begins with {}; expected a length-delimited Record "
             "holding a Header, as `fairswitch record -o FILE.fsl` writes",
             name_, begins);
    }
    header_ = std::move(*scratch_.mutable_header());
}

bool LogReader::next(model::Record& record) {
    while (!finished_) {
        const Bytes bytes = next_bytes();
        if (bytes.empty()) {
            finish();
        } else if (decode(bytes, record)) {
            ++records_;
            account(record);
            return true;
        }
    }
    return false;
}

bool LogReader::decode(Bytes bytes, model::Record& record) {
    const bool known = overlay(bytes, record) || decode_message(bytes, record);
    if (known && end_) validity_.add(Badness::kAfterEnd);
    return known;
}

// What isn't in the kernel's layout. False if it is nothing to hand out.
bool LogReader::decode_message(Bytes bytes, model::Record& record) {
    const Bytes payload = bytes.subspan(static_cast<std::size_t>(framing(bytes).prefix));
    if (!scratch_.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
        validity_.add(Badness::kUndecodable);
        return false;
    }
    switch (scratch_.kind_case()) {
        case Record::kHeader:
            validity_.add(Badness::kSecondHeader);
            return false;
        case Record::kEnd:
            if (end_) validity_.add(Badness::kAfterEnd);
            end_ = scratch_.end();
            return false;
        case Record::kPad:
            return false;
        case Record::KIND_NOT_SET:
            validity_.add(Badness::kUnknownKind);
            return false;
        case Record::kSample:
            ++fallbacks_;
            return from_message(scratch_, record);
        default:
            ++fallbacks_;
            validity_.add(Badness::kForeignLayout);
            return from_message(scratch_, record);
    }
}

void LogReader::account(const model::Record& record) {
    if (const auto* lost = std::get_if<model::Lost>(&record)) {
        validity_.add(Badness::kLost, sum(*lost));
    }
    const model::Stamp* stamp = model::stamp_of(record);
    if (stamp == nullptr || stamp->seq == 0 || stamp->rq_cpu >= kMaxCpus) return;
    if (stamp->rq_cpu >= sequences_.size()) sequences_.resize(stamp->rq_cpu + 1);
    Sequence& sequence = sequences_[stamp->rq_cpu];
    if (sequence.records++ == 0) sequence.lowest = sequence.highest = stamp->seq;
    sequence.lowest = std::min(sequence.lowest, stamp->seq);
    sequence.highest = std::max(sequence.highest, stamp->seq);
}

// What was dropped at the very end is told by no Lost record, since none was stored behind it; the
// End record's books have it.
void LogReader::account_drops() {
    if (!end_) return;
    std::uint64_t dropped = 0;
    for (const RingBooks& books : end_->rings()) {
        for (const std::uint64_t count : books.dropped()) dropped += count;
    }
    const std::uint64_t told = validity_.count(Badness::kLost);
    if (dropped > told) validity_.add(Badness::kLost, dropped - told);
}

// Records of one runqueue come from several rings, so only at the end is it known which numbers are
// missing between the lowest and the highest.
void LogReader::finish() {
    finished_ = true;
    if (!end_) validity_.add(Badness::kNoEnd);
    account_drops();
    for (const Sequence& sequence : sequences_) {
        if (sequence.records == 0) continue;
        const std::uint64_t span = sequence.highest - sequence.lowest + 1;
        if (span > sequence.records) validity_.add(Badness::kSequenceGap, span - sequence.records);
        if (span < sequence.records) {
            validity_.add(Badness::kSequenceRepeat, sequence.records - span);
        }
    }
}

}  // namespace fairswitch
