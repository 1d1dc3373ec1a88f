// The consumer's half of a ring. module/uapi/fairswitch/device.h has the picture and the pairing of
// the barriers; module/ring_core.h is the other half.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "fairswitch/device.h"
#include "userspace/log/overlay.h"

namespace fairswitch {

class RingReader {
  public:
    using Counts = std::array<std::uint64_t, FSW_KIND_COUNT>;
    // Whole records in a row, without Pads; valid during the call.
    using Sink = std::function<void(Bytes)>;

    // The areas outlive the reader. Throws Failure when the producer page isn't a fairswitch ring.
    RingReader(const fsw_ring_producer* producer, fsw_ring_consumer* consumer,
               const std::byte* data);

    // Hands out everything up to the head as it stands now and frees it. Returns the bytes freed.
    // Throws Failure when a record's length can't be; nothing is freed from there on.
    std::uint64_t drain(const Sink& sink);
    // Frees everything unseen: what an earlier session left.
    void discard();

    std::uint64_t ring_bytes() const { return ring_bytes_; }
    Counts produced() const;
    Counts dropped() const;
    const Counts& stored() const { return stored_; }  // handed out since the last discard, by kind
    std::uint64_t bytes() const { return bytes_; }    // likewise, Pads excepted

  private:
    std::size_t walk(Bytes bytes, std::size_t* pad);

    const fsw_ring_producer* producer_;
    fsw_ring_consumer* consumer_;
    const std::byte* data_;
    std::uint64_t ring_bytes_ = 0;
    std::uint64_t tail_ = 0;
    std::uint64_t bytes_ = 0;
    Counts stored_{};
};

// Both areas of a CPU's ring, mapped.
class RingMapping {
  public:
    RingMapping(int device, std::uint32_t cpu, std::uint64_t ring_bytes);
    ~RingMapping();
    RingMapping(RingMapping&& other) noexcept;
    RingMapping& operator=(RingMapping&&) = delete;

    RingReader& reader() { return *reader_; }
    const RingReader& reader() const { return *reader_; }

  private:
    void* consumer_ = nullptr;
    void* producer_ = nullptr;
    std::size_t producer_bytes_ = 0;
    std::unique_ptr<RingReader> reader_;
};

}  // namespace fairswitch
