#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"
#include "userspace/base/failure.h"
#include "userspace/device/ring_reader.h"
#include "userspace/log/reader.h"

namespace fairswitch::fuzz {
namespace {

void promise(bool kept) {
    if (!kept) std::abort();
}

Descriptor file_of(Input bytes) {
    Descriptor file(::memfd_create("fuzz", MFD_CLOEXEC));
    promise(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    promise(::lseek(file.get(), 0, SEEK_SET) == 0);
    return file;
}

// Everything that a reader tells must hang together, whatever the bytes.
void read_whole(Input bytes) {
    try {
        LogReader reader(file_of(bytes), "fuzz");
        std::uint64_t records = 0;
        for (model::Record record; reader.next(record);) ++records;
        std::uint64_t of_parts = 0;
        for (const LogPart& part : reader.parts()) {
            of_parts += part.records;
            promise(!describe(part).empty());
            promise(part.end || part.validity.count(Badness::kNoEnd) == 1);
            promise((part.losses.total() == 0) == part.losses.lines(0).empty());
        }
        promise(records == reader.records() && records == of_parts);
        promise(reader.fallbacks() <= records);
        promise(reader.bytes() == bytes.size());
        model::Record record;
        promise(!reader.next(record));
    } catch (const Failure&) {
    }
}

std::string pack(Input bytes) {
    std::string packed(ZSTD_compressBound(bytes.size()), '\0');
    const std::size_t size =
        ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 1);
    promise(!ZSTD_isError(size));
    packed.resize(size);
    return packed;
}

std::uint8_t first_byte(Input& input) {
    if (input.empty()) return 0;
    const auto byte = std::to_integer<std::uint8_t>(input.front());
    input = input.subspan(1);
    return byte;
}

template <typename T>
T take(Input& input) {
    T value{};
    const std::size_t bytes = std::min(sizeof(value), input.size());
    std::memcpy(&value, input.data(), bytes);
    input = input.subspan(bytes);
    return value;
}

// The same ring as one that overwrites and is frozen.
void walk_frozen(const RingReader& reader, const std::vector<std::byte>& data) {
    try {
        RingReader::Frozen frozen = reader.frozen();
        std::size_t walked = 0;
        for (Bytes record; frozen.next(record); walked += record.size()) {
            promise(record.data() >= data.data() &&
                    record.data() + record.size() <= data.data() + data.size());
        }
        promise(walked <= data.size());
    } catch (const Failure&) {
    }
}

}  // namespace

void run_log(Input input) { read_whole(input); }

// Stretches of 1 to 256 times eight bytes, packed or not, the last one cut.
void run_packed_log(Input input) {
    const std::size_t cut = first_byte(input);
    std::string file;
    while (!input.empty()) {
        const std::uint8_t choice = first_byte(input);
        const Input stretch = input.first(std::min<std::size_t>(input.size(), 8 * (choice + 1)));
        input = input.subspan(stretch.size());
        if (choice % 4 == 0) {
            file.append(reinterpret_cast<const char*>(stretch.data()), stretch.size());
        } else {
            file += pack(stretch);
        }
    }
    file.resize(file.size() - std::min(file.size(), cut % 64));
    read_whole(std::as_bytes(std::span(file)));
}

// Where the overlay takes a record, libprotobuf sees the same in it.
void run_record(Input input) {
    model::Record fast, slow;
    if (!overlay(input, fast)) return;
    const Framing frame = framing(input);
    promise(frame.prefix == 2 && frame.length + 2 == input.size());
    Record message;
    promise(message.ParseFromArray(input.data() + 2, static_cast<int>(input.size() - 2)));
    promise(from_message(message, slow));
    promise(fast == slow);
}

// A producer that writes what it likes: each round has another head, and the data under the reader
// is the input's.
void run_ring(Input input) {
    constexpr std::size_t kRingBytes = 1024;
    fsw_ring_producer producer{};
    fsw_ring_consumer consumer{};
    producer.magic = FSW_RING_MAGIC;
    producer.abi = FSW_ABI;
    producer.ring_bytes = kRingBytes;
    // Where it stands at first. Behind the end of the count too.
    producer.head = take<std::uint64_t>(input) & ~std::uint64_t{7};
    std::vector<std::byte> data(kRingBytes);  // by itself, so that a step outside is seen
    RingReader reader(&producer, &consumer, data.data());
    std::uint64_t handed_out = 0;
    for (int round = 0; round < 8 && !input.empty(); ++round) {
        producer.head += take<std::uint16_t>(input);
        const Input content = input.first(std::min(input.size(), kRingBytes));
        std::memcpy(data.data(), content.data(), content.size());
        const std::uint64_t before = consumer.tail;
        try {
            reader.drain([&](Bytes records) {
                promise(records.data() >= data.data() &&
                        records.data() + records.size() <= data.data() + data.size());
                handed_out += records.size();
                model::Record record;
                overlay(records, record);
            });
            promise(consumer.tail == producer.head);
        } catch (const Failure&) {
        }
        promise(consumer.tail - before <= kRingBytes);
        promise(reader.bytes() == handed_out);
        producer.oldest = producer.head - take<std::uint16_t>(input);
        walk_frozen(reader, data);
        input = input.subspan(std::min<std::size_t>(input.size(), 128));
    }
}

}  // namespace fairswitch::fuzz
