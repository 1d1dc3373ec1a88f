#include "userspace/log/reader.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "userspace/base/failure.h"
#include "userspace/base/text.h"

namespace fairswitch {
namespace {

// Stays in the cache, which is faster than fewer calls.
constexpr std::size_t kBufferBytes = 128 << 10;
constexpr std::size_t kLeastHeader = 16;  // bytes that tell what a file is
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

std::uint64_t difference(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

std::uint64_t entry(const google::protobuf::RepeatedField<std::uint64_t>& list, int at) {
    return at < list.size() ? list.Get(at) : 0;
}

}  // namespace

LogReader::LogReader(const std::string& path)
    : LogReader(open_log(path), path == "-" ? "standard input" : path) {}

LogReader::LogReader(Descriptor file, std::string name)
    : name_(std::move(name)), source_(std::move(file), name_), buffer_(kBufferBytes) {
    read_header();
}

Bytes LogReader::unread() const { return Bytes(buffer_).subspan(begin_, end_of_bytes_ - begin_); }

// Reads more behind what is unread. False at the end of the file.
bool LogReader::fill() {
    if (at_end_of_file_) return false;
    const std::size_t unneeded = before_last_ - base_;
    if (unneeded > 0) {
        std::copy(buffer_.begin() + unneeded, buffer_.begin() + end_of_bytes_, buffer_.begin());
        begin_ -= unneeded;
        end_of_bytes_ -= unneeded;
        base_ += unneeded;
    }
    if (end_of_bytes_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
    const std::size_t n = source_.read(std::span(buffer_).subspan(end_of_bytes_));
    at_end_of_file_ = n == 0;
    end_of_bytes_ += n;
    return n > 0;
}

// The log can't be followed further: counts why and hands out nothing more.
Bytes LogReader::stop(Badness why, std::uint64_t count) {
    if (count > 0 && !parts_.empty()) bad(why, count);
    begin_ = end_of_bytes_;
    return {};
}

Bytes LogReader::stop_at_end(std::uint64_t unread) {
    if (source_.corrupt_bytes() > 0) return stop(Badness::kCorruptFrame, source_.corrupt_bytes());
    return stop(Badness::kTornTail, unread + source_.torn_bytes());
}

// The next whole record, prefix included; empty at the end.
Bytes LogReader::next_bytes() {
    while (true) {
        const Bytes rest = unread();
        if (source_.plain() && LogSource::starts_frame(rest)) {
            source_.unpack(rest);
            end_of_bytes_ = begin_;
            at_end_of_file_ = false;
            continue;
        }
        const Framing frame = framing(rest);
        const std::size_t whole = static_cast<std::size_t>(frame.prefix) + frame.length;
        if (frame.prefix > 0 && rest.size() >= whole) {
            before_last_ = std::exchange(last_, base_ + begin_);
            begin_ += whole;
            return rest.first(whole);
        }
        if (frame.prefix >= 0 && fill()) continue;
        const std::uint64_t begin = base_ + begin_;
        if (!parts_.empty() && find_header(last_ + 1, UINT64_MAX, begin)) continue;
        const std::uint64_t lost = base_ + end_of_bytes_ - begin;
        return frame.prefix < 0 ? stop(Badness::kFramingLost, lost) : stop_at_end(lost);
    }
}

// Goes on with the first Header that begins in [from, to), if there is one; what lies between it and
// `torn` is a torn record. `from` lies behind the begin of the record before the last.
bool LogReader::find_header(std::uint64_t from, std::uint64_t to, std::uint64_t torn) {
    for (std::uint64_t at = from; at < to; ++at) {
        Candidate candidate;
        do {
            candidate = header_at(Bytes(buffer_).subspan(at - base_, base_ + end_of_bytes_ - at));
        } while (candidate == Candidate::kNeedsMore && fill());
        if (candidate == Candidate::kYes) {
            bad(Badness::kTornTail, difference(at, torn));
            begin_ = at - base_;
            return true;
        }
        if (to == UINT64_MAX) {
            before_last_ = last_ = at;  // the buffer needn't keep what has been searched
            begin_ = at - base_;
        }
        if (at == base_ + end_of_bytes_) return false;
    }
    return false;
}

// A torn record takes as much of the part behind it as it lacks.
bool LogReader::joined_within_last() {
    return find_header(before_last_ + 1, base_ + begin_, last_);
}

// Whether a record begins here that can only be a Header: it and the message in it are as long as
// they say of each other, and it names a kernel.
LogReader::Candidate LogReader::header_at(Bytes bytes) {
    const Framing outer = framing(bytes);
    if (outer.prefix < 0) return Candidate::kNo;
    const auto tag_at = static_cast<std::size_t>(outer.prefix);
    if (outer.prefix == 0 || bytes.size() <= tag_at) return Candidate::kNeedsMore;
    if (bytes[tag_at] != kHeaderTag) return Candidate::kNo;
    const Framing inner = framing(bytes.subspan(tag_at + 1));
    if (inner.prefix == 0) return Candidate::kNeedsMore;
    if (inner.prefix < 0 ||
        outer.length != 1 + static_cast<std::uint64_t>(inner.prefix) + inner.length) {
        return Candidate::kNo;
    }
    if (bytes.size() < tag_at + outer.length) return Candidate::kNeedsMore;
    const Bytes payload = bytes.subspan(tag_at, outer.length);
    const bool is_one = scratch_.ParseFromArray(payload.data(), static_cast<int>(payload.size())) &&
                        scratch_.has_header() && !scratch_.header().kernel_release().empty();
    return is_one ? Candidate::kYes : Candidate::kNo;
}

// The first bytes, unpacked if they are packed.
Bytes LogReader::begin_of_log() {
    const auto fill_to = [this](std::size_t bytes) {
        while (unread().size() < bytes && fill()) {
        }
    };
    fill_to(kLeastHeader);
    if (LogSource::starts_frame(unread())) {
        source_.unpack(unread());
        end_of_bytes_ = begin_;
        at_end_of_file_ = false;
        fill_to(kLeastHeader);
    }
    return unread();
}

void LogReader::read_header() {
    const Bytes start = begin_of_log();
    if (start.empty() && source_.bytes() == 0) {
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
    begin_part(std::move(*scratch_.mutable_header()));
}

void LogReader::begin_part(Header&& header) {
    if (!parts_.empty()) finish_part();
    parts_.emplace_back().header = std::move(header);
    sequences_.clear();
    stored_.clear();
}

bool LogReader::next(model::Record& record) {
    while (!finished_) {
        const Bytes bytes = next_bytes();
        if (bytes.empty()) {
            finished_ = true;
            finish_part();
        } else if (decode(bytes, record)) {
            ++records_;
            account(record);
            return true;
        }
    }
    return false;
}

bool LogReader::decode(Bytes bytes, model::Record& record) {
    if (overlay(bytes, record)) {
        kind_ = std::to_integer<unsigned>(bytes[offsetof(fsw_frame, kind_tag)]) >> 3;
    } else if (!decode_message(bytes, record)) {
        return false;
    }
    if (end()) bad(Badness::kAfterEnd);
    return true;
}

// What isn't in the kernel's layout. False if it is nothing to hand out.
bool LogReader::decode_message(Bytes bytes, model::Record& record) {
    const Bytes payload = bytes.subspan(static_cast<std::size_t>(framing(bytes).prefix));
    if (!scratch_.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
        if (!joined_within_last()) bad(Badness::kUndecodable);
        return false;
    }
    kind_ = static_cast<unsigned>(scratch_.kind_case());
    switch (scratch_.kind_case()) {
        case Record::kHeader:
            begin_part(std::move(*scratch_.mutable_header()));
            return false;
        case Record::kEnd:
            if (end()) bad(Badness::kAfterEnd);
            parts_.back().end = std::move(*scratch_.mutable_end());
            return false;
        case Record::kPad:
            return false;
        case Record::KIND_NOT_SET:
            if (!joined_within_last()) bad(Badness::kUnknownKind);
            return false;
        default:
            return known_kind(record);
    }
}

// Samples are written by programs, so they have no layout of the kernel's.
bool LogReader::known_kind(model::Record& record) {
    if (!from_message(scratch_, record)) {
        bad(Badness::kUnknownKind);
        return false;
    }
    ++fallbacks_;
    if (kind_ != Record::kSampleFieldNumber) bad(Badness::kForeignLayout);
    return true;
}

void LogReader::account(const model::Record& record) {
    ++parts_.back().records;
    if (const auto* lost = std::get_if<model::Lost>(&record)) parts_.back().losses.add(*lost);
    const model::Stamp* stamp = model::stamp_of(record);
    if (stamp == nullptr) return;
    account_sequence(*stamp);
    if (stamp->cpu >= kMaxCpus) return;
    if (stamp->cpu >= stored_.size()) stored_.resize(stamp->cpu + 1);
    ++stored_[stamp->cpu][kind_ % FSW_KIND_COUNT];
}

void LogReader::account_sequence(const model::Stamp& stamp) {
    if (stamp.seq == 0 || stamp.rq_cpu >= kMaxCpus) return;
    if (stamp.rq_cpu >= sequences_.size()) sequences_.resize(stamp.rq_cpu + 1);
    Sequence& sequence = sequences_[stamp.rq_cpu];
    if (sequence.records++ == 0) sequence.lowest = sequence.highest = stamp.seq;
    sequence.lowest = std::min(sequence.lowest, stamp.seq);
    sequence.highest = std::max(sequence.highest, stamp.seq);
}

void LogReader::finish_part() {
    LogPart& part = parts_.back();
    if (!part.end) bad(Badness::kNoEnd);
    if (part.end) part.losses.settle(*part.end);
    bad(Badness::kLost, part.losses.total());
    check_sequences();
    check_books();
}

// Records of one runqueue come from several rings, so only at the end is it known which numbers are
// missing between the lowest and the highest.
void LogReader::check_sequences() {
    // Between the windows of a flight recording numbers are missing by design.
    if (header().has_trigger()) return;
    for (const Sequence& sequence : sequences_) {
        if (sequence.records == 0) continue;
        // Numbers from 1 to the greatest there is span one more than fits.
        const std::uint64_t steps = sequence.highest - sequence.lowest;
        const std::uint64_t more = sequence.records - 1;
        if (steps > more) bad(Badness::kSequenceGap, steps - more);
        if (steps < more) bad(Badness::kSequenceRepeat, more - steps);
    }
}

void LogReader::check_books() {
    if (!end() || end()->rings().empty()) return;
    for (const RingBooks& books : end()->rings()) {
        if (books.cpu() >= stored_.size()) stored_.resize(std::min(books.cpu(), kMaxCpus) + 1);
        KindCounts& found = stored_[std::min(books.cpu(), kMaxCpus)];
        for (int kind = 0; kind < FSW_KIND_COUNT; ++kind) {
            const std::uint64_t stored = entry(books.stored(), kind);
            bad(Badness::kBooksOff, difference(stored, std::exchange(found[kind], 0)));
            if (kind == FSW_KIND_LOST || kind == FSW_KIND_PAD) continue;
            bad(Badness::kBooksUnbalanced,
                difference(entry(books.produced(), kind), stored + entry(books.dropped(), kind)));
        }
    }
    // What is left came from rings that the books don't know.
    for (const KindCounts& found : stored_) {
        for (const std::uint64_t count : found) bad(Badness::kBooksOff, count);
    }
}

Validity LogReader::validity() const {
    Validity sum;
    for (const LogPart& part : parts_) sum.add(part.validity);
    return sum;
}

std::string describe(const LogPart& part) {
    const Header& header = part.header;
    const auto seconds = static_cast<std::time_t>(header.start_realtime_ns() / 1'000'000'000);
    std::tm when{};
    ::gmtime_r(&seconds, &when);
    char begun[32] = "";
    std::strftime(begun, sizeof(begun), "%Y-%m-%d %H:%M:%S UTC", &when);
    std::string host = header.host().empty() ? "unnamed" : printable(header.host());
    if (!header.host_id().empty()) host += fmt::format(" ({})", printable(header.host_id()));
    return fmt::format("host {}, kernel {}, begun {}, {} records", host,
                       printable(header.kernel_release()), begun, part.records);
}

}  // namespace fairswitch
