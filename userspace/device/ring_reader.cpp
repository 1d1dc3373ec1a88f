#include "userspace/device/ring_reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "userspace/base/failure.h"
#include "userspace/device/atomics.h"

namespace fairswitch {

RingReader::RingReader(const fsw_ring_producer* producer, fsw_ring_consumer* consumer,
                       const std::byte* data)
    : producer_(producer), consumer_(consumer), data_(data), ring_bytes_(producer->ring_bytes) {
    if (producer->magic != FSW_RING_MAGIC || producer->abi != FSW_ABI ||
        !std::has_single_bit(ring_bytes_)) {
        fail(Exit::kRunFailed,
             "no fairswitch ring of this ABI: magic {:#x}, ABI {}, {} bytes; expected {:#x}, {}, a "
             "power of two; are this program and the module from one build?",
             producer->magic, producer->abi, ring_bytes_, FSW_RING_MAGIC, FSW_ABI);
    }
    discard();
}

std::uint64_t RingReader::drain(const Sink& sink) {
    const std::uint64_t from = tail_;
    const std::uint64_t head = load_head(&producer_->head);
    if (head - tail_ > ring_bytes_) {
        fail(Exit::kRunFailed,
             "the ring of CPU {} is {} bytes ahead of its reader but holds only {}: was it read by "
             "somebody else?",
             producer_->cpu, head - tail_, ring_bytes_);
    }
    while (tail_ != head) {
        const std::uint64_t at = tail_ & (ring_bytes_ - 1);
        const std::uint64_t run = std::min(head - tail_, ring_bytes_ - at);
        std::size_t pad = 0;
        Counts seen{};
        const std::size_t records = walk(Bytes(data_ + at, run), &pad, &seen);
        // A sink that throws has stored nothing: the books must say so.
        if (records > 0) sink(Bytes(data_ + at, records));
        for (std::size_t kind = 0; kind < seen.size(); ++kind) stored_[kind] += seen[kind];
        bytes_ += records;
        tail_ += records + pad;
        store_tail(&consumer_->tail, tail_);
    }
    return tail_ - from;
}

void RingReader::discard() {
    tail_ = load_head(&producer_->head);
    store_tail(&consumer_->tail, tail_);
    stored_ = {};
    passed_ = {};
    bytes_ = 0;
}

// Of the first record of `rest`, which stands at `position`.
std::uint64_t RingReader::record_bytes(Bytes rest, std::uint64_t position) const {
    // In the ring the prefix has two bytes: framing(), which knows all that a log may hold, costs
    // several times what is left to do for a record.
    const auto low = rest.size() < 2 ? 0u : std::to_integer<unsigned>(rest[0]);
    const auto high = rest.size() < 2 ? 0u : std::to_integer<unsigned>(rest[1]);
    const std::uint64_t whole = 2 + ((low & 0x7f) | high << 7);
    const bool framed = (low & 0x80) != 0 && (high & 0x80) == 0;
    if (!framed || whole < 8 || whole % 8 != 0 || whole > rest.size()) {
        fail(Exit::kRunFailed,
             "the ring of CPU {} holds a record of {} bytes with {} left at byte {}; expected a "
             "multiple of 8 that fits; the recording can't go on",
             producer_->cpu, whole, rest.size(), position);
    }
    return whole;
}

// How many bytes from the start are records, up to a Pad (its bytes in *pad) or the end of the run.
// The lengths come from memory that is written meanwhile, though not this part of it: they are
// checked, not believed.
std::size_t RingReader::walk(Bytes run, std::size_t* pad, Counts* seen) const {
    std::size_t at = 0;
    while (at < run.size()) {
        const Bytes rest = run.subspan(at);
        const std::uint64_t whole = record_bytes(rest, tail_ + at);
        const unsigned kind = std::to_integer<unsigned>(rest[2]) >> 3;
        if (kind == FSW_KIND_PAD) {
            *pad = whole;
            return at;
        }
        ++(*seen)[kind % FSW_KIND_COUNT];
        at += whole;
    }
    return at;
}

namespace {

RingReader::Counts loaded(const __u64 (&counters)[FSW_KIND_COUNT]) {
    RingReader::Counts counts;
    std::transform(std::begin(counters), std::end(counters), counts.begin(),
                   [](const __u64& count) { return load_counter(&count); });
    return counts;
}

}  // namespace

RingReader::Counts RingReader::produced() const { return loaded(producer_->produced); }
RingReader::Counts RingReader::dropped() const { return loaded(producer_->dropped); }
RingReader::Counts RingReader::filtered() const { return loaded(producer_->filtered); }
RingReader::Counts RingReader::overwritten() const { return loaded(producer_->overwritten); }

RingReader::Counts RingReader::passed() const {
    Counts counts = overwritten();
    for (std::size_t kind = 0; kind < counts.size(); ++kind) counts[kind] += passed_[kind];
    return counts;
}

RingReader::Loss RingReader::loss() const {
    return {load_counter(&producer_->lost_first_ns), load_counter(&producer_->lost_last_ns)};
}

namespace {

unsigned kind_of(Bytes record) {
    return std::to_integer<unsigned>(record[offsetof(fsw_frame, kind_tag)]) >> 3;
}

}  // namespace

void RingReader::keep(Bytes record) {
    ++stored_[kind_of(record) % FSW_KIND_COUNT];
    bytes_ += record.size();
}

void RingReader::pass(Bytes record) { ++passed_[kind_of(record) % FSW_KIND_COUNT]; }

RingReader::Frozen::Frozen(const RingReader& ring)
    : ring_(ring),
      at_(load_counter(&ring.producer_->oldest)),
      head_(load_head(&ring.producer_->head)) {
    if (head_ - at_ > ring.ring_bytes_) {
        fail(Exit::kRunFailed, "the ring of CPU {} holds {} bytes, but has room for {}",
             ring.cpu(), head_ - at_, ring.ring_bytes_);
    }
}

bool RingReader::Frozen::next(Bytes& record) {
    while (at_ != head_) {
        const std::uint64_t at = at_ & (ring_.ring_bytes_ - 1);
        const Bytes run(ring_.data_ + at, std::min(head_ - at_, ring_.ring_bytes_ - at));
        const std::uint64_t whole = ring_.record_bytes(run, at_);
        at_ += whole;
        record = run.first(whole);
        if (kind_of(record) != FSW_KIND_PAD) return true;
    }
    return false;
}

namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

Mapping::Mapping(int device, std::uint64_t offset, std::size_t bytes, int protection)
    : bytes_(bytes) {
    address_ = ::mmap(nullptr, bytes, protection, MAP_SHARED, device, static_cast<off_t>(offset));
    if (address_ == MAP_FAILED) {
        const int error = errno;
        fail(Exit::kRunFailed, "can't map {} bytes of the ring of CPU {}: {}", bytes, offset >> 32,
             std::strerror(error));
    }
    // The module sees to it as well: a child must never hold a ring.
    ::madvise(address_, bytes, MADV_DONTFORK);
}

Mapping::~Mapping() {
    if (address_ != nullptr) ::munmap(address_, bytes_);
}

Mapping::Mapping(Mapping&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_) {}

RingMapping::RingMapping(int device, std::uint32_t cpu, std::uint64_t ring_bytes)
    : consumer_(device, fsw_ring_offset(cpu, FSW_AREA_CONSUMER), page_bytes(),
                PROT_READ | PROT_WRITE),
      producer_(device, fsw_ring_offset(cpu, FSW_AREA_PRODUCER), page_bytes() + ring_bytes,
                PROT_READ),
      reader_(static_cast<const fsw_ring_producer*>(producer_.address()),
              static_cast<fsw_ring_consumer*>(consumer_.address()),
              static_cast<const std::byte*>(producer_.address()) + page_bytes()) {
    if (reader_.ring_bytes() != ring_bytes) {
        fail(Exit::kRunFailed, "the ring of CPU {} says it has {} bytes, the module said {}", cpu,
             reader_.ring_bytes(), ring_bytes);
    }
}

}  // namespace fairswitch
