// Decoding of records, by overlay and by libprotobuf, from the cache and from memory.
#include <benchmark/benchmark.h>
#include <google/protobuf/arena.h>

#include <cstring>
#include <vector>

#include "tests/unit/random_records.h"
#include "userspace/log/overlay.h"

namespace fairswitch {
namespace {

// In a core's own cache; and above the last-level cache of any machine that we know.
constexpr std::int64_t kCached_bytes = 64 << 10;
constexpr std::int64_t kMemory_bytes = 512 << 20;

template <typename Packed>
std::vector<std::byte> records_of(std::size_t bytes) {
    testing::Random random(1);
    // Different values, so that nothing is predicted; few, since making them takes time.
    std::vector<std::byte> some;
    for (int i = 0; i < 512; ++i) {
        auto record = testing::record_template<Packed>();
        testing::randomise(record.body, random);
        const auto* begin = reinterpret_cast<const std::byte*>(&record);
        some.insert(some.end(), begin, begin + sizeof(record));
    }
    std::vector<std::byte> all;
    all.reserve(bytes + some.size());
    while (all.size() < bytes) all.insert(all.end(), some.begin(), some.end());
    all.resize(bytes / sizeof(Packed) * sizeof(Packed));
    return all;
}

struct ByOverlay {
    bool operator()(Bytes bytes, model::Record& record) const { return overlay(bytes, record); }
};

struct ByLibprotobuf {
    bool operator()(Bytes bytes, model::Record& record) const {
        constexpr std::size_t kPrefix_bytes = 2;
        return message->ParseFromArray(bytes.data() + kPrefix_bytes,
                                       static_cast<int>(bytes.size() - kPrefix_bytes)) &&
               from_message(*message, record);
    }
    Record* message;
};

class OnHeap {
  public:
    bool operator()(Bytes bytes, model::Record& record) { return by_(bytes, record); }

  private:
    Record message_;
    ByLibprotobuf by_{&message_};
};

// What allocation costs of that: here there is next to none.
class InArena {
  public:
    bool operator()(Bytes bytes, model::Record& record) {
        if (++used_ % kRecords == 0) {
            arena_.Reset();
            by_.message = google::protobuf::Arena::CreateMessage<Record>(&arena_);
        }
        return by_(bytes, record);
    }

  private:
    static constexpr unsigned kRecords = 64;
    google::protobuf::Arena arena_;
    ByLibprotobuf by_{google::protobuf::Arena::CreateMessage<Record>(&arena_)};
    unsigned used_ = 0;
};

template <typename Packed, typename Decoder>
void decode(benchmark::State& state) {
    const auto bytes = records_of<Packed>(static_cast<std::size_t>(state.range(0)));
    Decoder decoder;
    model::Record record;
    std::int64_t decoded = 0;
    for (auto _ : state) {
        for (std::size_t at = 0; at < bytes.size(); at += sizeof(Packed)) {
            if (!decoder(Bytes(bytes).subspan(at, sizeof(Packed)), record))
                state.SkipWithError("a record can't be decoded");
            benchmark::DoNotOptimize(record);
            ++decoded;
        }
    }
    state.SetItemsProcessed(decoded);
    state.SetBytesProcessed(decoded * static_cast<std::int64_t>(sizeof(Packed)));
}

template <typename Packed, typename Decoder>
void add(const char* name) {
    benchmark::RegisterBenchmark(name, decode<Packed, Decoder>)
        ->ArgName("bytes")
        ->Arg(kCached_bytes)
        ->Arg(kMemory_bytes);
}

}  // namespace
}  // namespace fairswitch

int main(int argc, char** argv) {
    using namespace fairswitch;
    add<fsw_brief_record, ByOverlay>("overlay/brief");
    add<fsw_decision_record, ByOverlay>("overlay/full");
    add<fsw_brief_record, OnHeap>("libprotobuf/brief");
    add<fsw_decision_record, OnHeap>("libprotobuf/full");
    add<fsw_brief_record, InArena>("arena/brief");
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
