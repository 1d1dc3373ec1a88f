// An independent decoder, Python with Google's protobuf package, reads the values that our reader
// reads: tests/decode_log.py prints what it sees, and so does this.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "tests/unit/log_files.h"
#include "tests/unit/random_records.h"
#include "tests/unit/real_records.h"
#include "userspace/log/schema.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

using namespace testing;

#define FSW_TEXT_SCALAR(name) out += fmt::format(" " #name "={}", in.name);
#define FSW_TEXT_u7(name) FSW_TEXT_SCALAR(name)
#define FSW_TEXT_f32(name) FSW_TEXT_SCALAR(name)
#define FSW_TEXT_s32(name) FSW_TEXT_SCALAR(name)
#define FSW_TEXT_f64(name) FSW_TEXT_SCALAR(name)
#define FSW_TEXT_s64(name) FSW_TEXT_SCALAR(name)
#define FSW_TEXT_comm(name) \
    out += " " #name "=";   \
    for (const char c : in.name) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
#define FSW_TEXT_stamp(name) out += " " #name "{" + text_of(in.name).substr(1) + "}";
#define FSW_TEXT_OPTIONAL(name) \
    if (in.name) out += " " #name "{" + text_of(*in.name).substr(1) + "}";
#define FSW_TEXT_entity(name) FSW_TEXT_OPTIONAL(name)
#define FSW_TEXT_queue(name) FSW_TEXT_OPTIONAL(name)
#define FSW_TEXT_timer(name) FSW_TEXT_OPTIONAL(name)
#define FSW_TEXT(number, type, name) FSW_TEXT_##type(name)
#define FSW_TEXT_MESSAGE(Model, MESSAGE)             \
    std::string text_of(const model::Model& in) {    \
        std::string out;                             \
        FSW_##MESSAGE##_FIELDS(FSW_TEXT) return out; \
    }
FSW_TEXT_MESSAGE(Stamp, STAMP)
FSW_TEXT_MESSAGE(Entity, ENTITY)
FSW_TEXT_MESSAGE(Queue, QUEUE)
FSW_TEXT_MESSAGE(Timer, TIMER)
FSW_TEXT_MESSAGE(Decision, DECISION)
FSW_TEXT_MESSAGE(Brief, BRIEF)
FSW_TEXT_MESSAGE(Requeue, REQUEUE)
FSW_TEXT_MESSAGE(Delay, DELAY)
FSW_TEXT_MESSAGE(Wake, WAKE)
FSW_TEXT_MESSAGE(Switch, SWITCH)
FSW_TEXT_MESSAGE(Task, TASK)
FSW_TEXT_MESSAGE(Swap, SWAP)
FSW_TEXT_MESSAGE(Lost, LOST)
FSW_TEXT_MESSAGE(Marker, MARKER)

std::string text_of(const model::Sample& in) {
    return fmt::format(" thread={} cycle={} latency_ns={}", in.thread, in.cycle, in.latency_ns);
}

// In the order of model::Record.
constexpr const char* kKinds[] = {"decision", "brief", "requeue", "delay",  "wake", "switch",
                                  "task",     "swap",  "lost",    "marker", "sample"};
static_assert(std::size(kKinds) == std::variant_size_v<model::Record>);

std::string text_of_log(const std::string& path) {
    LogReader reader(path);
    std::string text;
    for (model::Record record; reader.next(record);) {
        text += kKinds[record.index()];
        text += std::visit([](const auto& kind) { return text_of(kind); }, record) + "\n";
    }
    return text;
}

std::string text_by_python(const std::string& path) {
    const std::string command = FAIRSWITCH_SOURCE "/tests/decode_log.py " + path + " 2>&1";
    std::FILE* pipe = ::popen(command.c_str(), "r");
    std::string text;
    char buffer[65536];
    for (std::size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
        text.append(buffer, n);
    EXPECT_EQ(::pclose(pipe), 0) << text;
    return text;
}

void write_log(const std::string& path, LogWriter::Packing packing, Random& random) {
    Header header = some_header();
    header.set_schema(log_schema());
    LogWriter log(path, header, packing);
    for (const RealCase& real : kRealCases) log.append(as_bytes(bytes_of_hex(real.hex)));
    Record sample;
    sample.mutable_sample()->set_cycle(1ull << 40);
    sample.mutable_sample()->set_latency_ns(-7);
    log.append(sample);
    for (int round = 0; round < 20; ++round) {
        for (const std::string& bytes : random_records(random)) log.append(as_bytes(bytes));
    }
    log.close(End());
}

TEST(PythonProtobuf, ReadsTheSameValues) {
    const unsigned seed = std::random_device()();
    SCOPED_TRACE(seed);
    for (const auto packing : {LogWriter::Packing::kPlain, LogWriter::Packing::kZstd}) {
        Random random(seed);
        const std::string path = temporary_path("python.fsl");
        write_log(path, packing, random);
        const std::string ours = text_of_log(path);
        EXPECT_EQ(std::count(ours.begin(), ours.end(), '\n'),
                  static_cast<long>(std::size(kRealCases)) + 1 +
                      20 * static_cast<long>(random_records(random).size()));
        EXPECT_EQ(text_by_python(path), ours);
        std::filesystem::remove(path);
    }
}

}  // namespace
}  // namespace fairswitch
