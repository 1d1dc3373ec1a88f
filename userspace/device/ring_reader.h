// The consumer's half of a ring. module/uapi/fairswitch/device.h has the picture and the pairing of
// the barriers; module/ring_core.h is the other half.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

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
    std::size_t walk(Bytes run, std::size_t* pad, Counts* seen) const;

    const fsw_ring_producer* producer_;
    fsw_ring_consumer* consumer_;
    const std::byte* data_;
    std::uint64_t ring_bytes_ = 0;
    std::uint64_t tail_ = 0;
    std::uint64_t bytes_ = 0;
    Counts stored_{};
};

// Shared memory of the device, unmapped once and never inherited.
class Mapping {
  public:
    Mapping(int device, std::uint64_t offset, std::size_t bytes, int protection);
    ~Mapping();
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&&) = delete;
    void* address() const { return address_; }

  private:
    void* address_ = nullptr;
    std::size_t bytes_ = 0;
};

// Both areas of a CPU's ring, mapped.
class RingMapping {
  public:
    RingMapping(int device, std::uint32_t cpu, std::uint64_t ring_bytes);
    RingReader& reader() { return reader_; }
    const RingReader& reader() const { return reader_; }

  private:
    Mapping consumer_;
    Mapping producer_;
    RingReader reader_;
};

}  // namespace fairswitch
