#include "userspace/device/flight.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <queue>

#include "userspace/base/failure.h"

namespace fairswitch {
namespace {

unsigned kind_of(Bytes record) {
    return std::to_integer<unsigned>(record[offsetof(fsw_frame, kind_tag)]) >> 3;
}

// Frame and stamp lie alike in all kinds.
std::uint64_t time_of(Bytes record) {
    std::uint64_t time_ns = 0;
    std::memcpy(&time_ns,
                record.data() + offsetof(fsw_marker_record, body) + offsetof(fsw_marker, stamp) +
                    offsetof(fsw_stamp, time_ns),
                sizeof(time_ns));
    return time_ns;
}

// A ring's next record that is wanted; what isn't is passed on the way.
class Cursor {
  public:
    Cursor(RingReader& ring, std::uint64_t from_ns)
        : ring_(ring), frozen_(ring.frozen()), from_ns_(from_ns) {}

    bool advance() {
        while (frozen_.next(record_)) {
            if (kind_of(record_) == FSW_KIND_TASK || time_of(record_) >= from_ns_) return true;
            ring_.pass(record_);
        }
        return false;
    }

    Bytes record() const { return record_; }
    void keep() { ring_.keep(record_); }

  private:
    RingReader& ring_;
    RingReader::Frozen frozen_;
    const std::uint64_t from_ns_;
    Bytes record_;
};

}  // namespace

void copy_window(const std::vector<RingReader*>& rings, std::uint64_t from_ns,
                 const RingReader::Sink& sink) {
    std::vector<Cursor> cursors;
    for (RingReader* ring : rings) cursors.emplace_back(*ring, from_ns);
    using Next = std::pair<std::uint64_t, std::size_t>;  // time, cursor
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    for (std::size_t i = 0; i < cursors.size(); ++i) {
        if (cursors[i].advance()) next.emplace(time_of(cursors[i].record()), i);
    }
    while (!next.empty()) {
        const std::size_t i = next.top().second;
        next.pop();
        // A sink that throws has stored nothing: the books must say so.
        sink(cursors[i].record());
        cursors[i].keep();
        if (cursors[i].advance()) next.emplace(time_of(cursors[i].record()), i);
    }
}

void pass_all(const std::vector<RingReader*>& rings) {
    for (RingReader* ring : rings) {
        RingReader::Frozen frozen = ring->frozen();
        for (Bytes record; frozen.next(record);) ring->pass(record);
    }
}

std::uint64_t overwritten_sum(const RingReader& ring) {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : ring.overwritten()) sum += count;
    return sum;
}

std::uint64_t whole_from(const std::vector<RingReader*>& rings,
                         const std::vector<std::uint64_t>& before) {
    std::uint64_t from_ns = 0;
    for (std::size_t i = 0; i < rings.size(); ++i) {
        RingReader::Frozen frozen = rings[i]->frozen();
        Bytes oldest;
        if (overwritten_sum(*rings[i]) == before[i] || !frozen.next(oldest)) continue;
        from_ns = std::max(from_ns, time_of(oldest));
    }
    return from_ns;
}

std::uint64_t parse_duration_ns(const std::string& text, const std::string& option) {
    struct Unit {
        const char* name;
        double ns;
    };
    constexpr Unit kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    double value = 0;
    const char* const end_of_text = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), end_of_text, value);
    for (const Unit& unit : kUnits) {
        const double ns = value * unit.ns;
        // Beyond an hour no ring reaches.
        if (error == std::errc() && std::string_view(end, end_of_text) == unit.name && ns >= 0 &&
            ns <= 3.6e12) {
            return static_cast<std::uint64_t>(ns);
        }
    }
    fail(Exit::kUsage, "{}: `{}` is no duration up to an hour; write it like 500us, 50ms or 1s",
         option, text);
}

std::uint64_t parse_trigger(const std::string& text) {
    constexpr std::string_view kBegin = "latency>";
    std::string plain = text;
    std::erase(plain, ' ');
    if (!plain.starts_with(kBegin)) {
        fail(Exit::kUsage, "--trigger: `{}` is no trigger; write it like 'latency>1ms'", text);
    }
    const std::uint64_t latency_ns =
        parse_duration_ns(plain.substr(kBegin.size()), "--trigger");
    if (latency_ns == 0) fail(Exit::kUsage, "--trigger: expected a latency above 0");
    return latency_ns;
}

}  // namespace fairswitch
