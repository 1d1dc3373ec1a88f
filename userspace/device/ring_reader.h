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
    Counts filtered() const;

    // Of a ring that overwrites and is frozen: its records from the oldest on, Pads left out.
    class Frozen {
      public:
        // False at the end. Throws Failure when a record's length can't be.
        bool next(Bytes& record);

      private:
        friend class RingReader;
        explicit Frozen(const RingReader& ring);
        const RingReader& ring_;
        std::uint64_t at_;
        std::uint64_t head_;
    };
    Frozen frozen() const { return Frozen(*this); }
    // Books of such a ring's record: it is in the log, or it isn't.
    void keep(Bytes record);
    void pass(Bytes record);
    Counts passed() const;  // overwritten ones included
    Counts overwritten() const;
    struct Loss {
        std::uint64_t first_ns;
        std::uint64_t last_ns;
    };
    Loss loss() const;  // of the last freeze
    std::uint32_t cpu() const { return producer_->cpu; }
    const Counts& stored() const { return stored_; }  // handed out since the last discard, by kind
    std::uint64_t bytes() const { return bytes_; }    // likewise, Pads excepted

  private:
    std::uint64_t record_bytes(Bytes rest, std::uint64_t position) const;
    std::size_t walk(Bytes run, std::size_t* pad, Counts* seen) const;

    const fsw_ring_producer* producer_;
    fsw_ring_consumer* consumer_;
    const std::byte* data_;
    std::uint64_t ring_bytes_ = 0;
    std::uint64_t tail_ = 0;
    std::uint64_t bytes_ = 0;
    Counts stored_{};
    Counts passed_{};
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
