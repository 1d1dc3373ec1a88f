// Every way in which a log can be bad, counted by the reader and shown by whoever uses the log.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fairswitch {

enum class Badness : std::size_t {
    kTornTail,       // the log, or one joined to others, ends inside a record (count: bytes)
    kFramingLost,    // an impossible record length, and no Header after it (count: bytes)
    kUndecodable,    // a framed record that is no Record message
    kUnknownKind,    // a Record of a kind that this program doesn't know
    kCorruptFrame,   // a zstd frame that can't be unpacked (count: bytes); nothing after it is read
    kAfterEnd,       // a record behind the End record
    kNoEnd,          // no End record: the recorder was killed or the disk was full
    kForeignLayout,  // decoded, but not in the kernel's layout: another version or tool wrote it
    kLost,           // records that the kernel dropped, as its Lost records tell
    kSequenceGap,    // sequence numbers that no record of their runqueue has
    kSequenceRepeat,   // more records than sequence numbers on a runqueue
    kBooksOff,         // records that the recorder's books have and the file hasn't, or the reverse
    kBooksUnbalanced,  // books in which produced isn't stored + dropped
    kCount,
};

// A short name (snake_case, for machine-readable output) and a sentence.
std::string_view name(Badness badness);
std::string_view meaning(Badness badness);

class Validity {
  public:
    void add(Badness badness, std::uint64_t count = 1) {
        counts_[static_cast<std::size_t>(badness)] += count;
    }
    std::uint64_t count(Badness badness) const {
        return counts_[static_cast<std::size_t>(badness)];
    }
    void add(const Validity& other) {
        for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    }
    // One line per badness that occurred; empty when the log is whole. kForeignLayout alone costs
    // nothing but speed, and is told as well.
    std::string summary() const;
    // No data is known to be missing or doubtful.
    bool whole() const;

  private:
    std::array<std::uint64_t, static_cast<std::size_t>(Badness::kCount)> counts_{};
};

}  // namespace fairswitch
