// Logs good and bad, through the writer, the reader and the overlay.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/unit/records.h"
#include "userspace/base/failure.h"
#include "userspace/log/reader.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

using testing::as_bytes;
using testing::bytes_of;

Header some_header() {
    Header header;
    header.set_kernel_release("6.12.117+deb12-cloud-amd64");
    header.set_cpus(2);
    return header;
}

std::string header_bytes() {
    Record record;
    *record.mutable_header() = some_header();
    return framed(record);
}

std::string end_bytes() {
    Record record;
    record.mutable_end()->set_reason("test");
    return framed(record);
}

std::string marker(std::uint64_t value, std::uint64_t seq = 0, std::uint32_t rq_cpu = 0) {
    auto record = testing::record_template<fsw_marker_record>();
    record.body.value = value;
    record.body.stamp.seq = seq;
    record.body.stamp.rq_cpu = rq_cpu;
    return bytes_of(record);
}

// A reader of these bytes, as a file in memory.
LogReader reader_of(const std::string& bytes) {
    Descriptor file(::memfd_create("log", MFD_CLOEXEC));
    EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::lseek(file.get(), 0, SEEK_SET);
    return LogReader(std::move(file), "test.fsl");
}

std::vector<model::Record> read_all(LogReader& reader) {
    std::vector<model::Record> records;
    for (model::Record record; reader.next(record);) records.push_back(record);
    return records;
}

std::string message_of_failure(const std::string& bytes) {
    try {
        reader_of(bytes);
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        return failure.what();
    }
    return "";
}

std::string temporary_path(const char* name) {
    return (std::filesystem::temp_directory_path() /
            (std::string("fairswitch-") + std::to_string(::getpid()) + "-" + name))
        .string();
}

TEST(LogReader, ReadsAWholeLog) {
    const auto decision = testing::filled_record<fsw_decision_record>();
    LogReader reader = reader_of(header_bytes() + bytes_of(decision) + marker(5) + end_bytes());
    EXPECT_EQ(reader.header().kernel_release(), "6.12.117+deb12-cloud-amd64");
    const auto records = read_all(reader);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(std::get<model::Decision>(records[0]).wakee->lag_ns, decision.body.wakee.lag_ns);
    EXPECT_EQ(std::get<model::Marker>(records[1]).value, 5u);
    ASSERT_TRUE(reader.end());
    EXPECT_EQ(reader.end()->reason(), "test");
    EXPECT_TRUE(reader.validity().whole()) << reader.validity().summary();
    EXPECT_EQ(reader.validity().summary(), "");
    EXPECT_EQ(reader.fallbacks(), 0u);
}

TEST(LogReader, CountsATornTailAndKeepsTheRest) {
    const std::string whole = header_bytes() + marker(1) + marker(2);
    for (std::size_t cut = 1; cut < marker(2).size(); ++cut) {
        LogReader reader = reader_of(whole.substr(0, whole.size() - cut));
        EXPECT_EQ(read_all(reader).size(), 1u);
        EXPECT_EQ(reader.validity().count(Badness::kTornTail), marker(2).size() - cut);
        EXPECT_EQ(reader.validity().count(Badness::kNoEnd), 1u);
        EXPECT_FALSE(reader.validity().whole());
    }
}

TEST(LogReader, RefusesForeignFiles) {
    EXPECT_NE(message_of_failure("").find("is empty"), std::string::npos);
    EXPECT_NE(message_of_failure("# comment\nsome text file\n").find("no fairswitch log"),
              std::string::npos);
    EXPECT_NE(message_of_failure(std::string("\x7f"
                                             "ELF\x02\x01\x01",
                                             7))
                  .find("7f 45 4c 46"),
              std::string::npos);
    EXPECT_NE(message_of_failure(std::string(4096, '\xff')).find("no fairswitch log"),
              std::string::npos);
    EXPECT_NE(message_of_failure(marker(1)).find("no fairswitch log"), std::string::npos);
    EXPECT_NE(message_of_failure("hi").find("no fairswitch log"), std::string::npos);
}

TEST(LogReader, TellsAHeaderThatIsCut) {
    const std::string header = header_bytes();
    for (std::size_t length = 1; length < header.size(); ++length) {
        EXPECT_NE(message_of_failure(header.substr(0, length)).find("inside its header"),
                  std::string::npos)
            << length;
    }
}

TEST(LogReader, CountsEachBadRecordAndGoesOn) {
    const std::string undecodable("\x04\x12\x7f\x00\x00", 5);  // a Decision longer than its record
    const std::string unknown("\x04\xa2\x06\x01x", 5);         // field 100 of Record
    LogReader reader = reader_of(header_bytes() + undecodable + marker(1) + unknown +
                                 header_bytes() + marker(2) + end_bytes() + marker(3));
    EXPECT_EQ(read_all(reader).size(), 3u);
    const Validity& validity = reader.validity();
    EXPECT_EQ(validity.count(Badness::kUndecodable), 1u);
    EXPECT_EQ(validity.count(Badness::kUnknownKind), 1u);
    EXPECT_EQ(validity.count(Badness::kSecondHeader), 1u);
    EXPECT_EQ(validity.count(Badness::kAfterEnd), 1u);
    EXPECT_NE(validity.summary().find("undecodable: 1 "), std::string::npos);
}

TEST(LogReader, StopsWhereTheFramingIsLost) {
    const std::string garbage(100, '\xff');
    LogReader reader = reader_of(header_bytes() + marker(1) + garbage + marker(2));
    EXPECT_EQ(read_all(reader).size(), 1u);
    EXPECT_EQ(reader.validity().count(Badness::kFramingLost), 100u + marker(2).size());
}

TEST(LogReader, SkipsPads) {
    const std::string pad("\x86\x00\x5a\x83\x00\x7a\x80\x00", 8);
    LogReader reader = reader_of(header_bytes() + pad + marker(1) + pad + end_bytes());
    EXPECT_EQ(read_all(reader).size(), 1u);
    EXPECT_TRUE(reader.validity().whole());
}

TEST(LogReader, FindsGapsAndRepeatsOfEachRunqueue) {
    // Runqueue 0: 5, 7, 6 in the order of two rings, complete. Runqueue 1: 2 is missing.
    // Runqueue 2: 9 twice.
    LogReader reader = reader_of(header_bytes() + marker(0, 5, 0) + marker(0, 7, 0) +
                                 marker(0, 1, 1) + marker(0, 6, 0) + marker(0, 3, 1) +
                                 marker(0, 9, 2) + marker(0, 9, 2) + marker(0, 0, 3) + end_bytes());
    read_all(reader);
    EXPECT_EQ(reader.validity().count(Badness::kSequenceGap), 1u);
    EXPECT_EQ(reader.validity().count(Badness::kSequenceRepeat), 1u);
}

TEST(LogReader, AddsUpLostRecords) {
    auto lost = testing::record_template<fsw_lost_record>();
    lost.body.decisions = 3;
    lost.body.markers = 4;
    LogReader reader = reader_of(header_bytes() + bytes_of(lost) + bytes_of(lost) + end_bytes());
    read_all(reader);
    EXPECT_EQ(reader.validity().count(Badness::kLost), 14u);
    EXPECT_FALSE(reader.validity().whole());
}

// The last drops have no Lost record: the books at the end tell them.
TEST(LogReader, CountsDropsThatOnlyTheBooksTell) {
    auto lost = testing::record_template<fsw_lost_record>();
    lost.body.decisions = 3;
    Record end;
    end.mutable_end()->add_rings()->add_dropped(4);
    end.mutable_end()->add_rings()->add_dropped(1);
    LogReader reader = reader_of(header_bytes() + bytes_of(lost) + framed(end));
    read_all(reader);
    EXPECT_EQ(reader.validity().count(Badness::kLost), 5u);
}

// What another protobuf library writes after reading: the shortest lengths, no filling.
TEST(LogReader, DecodesOtherEncodings) {
    const auto packed = testing::filled_record<fsw_requeue_record>();
    Record record;
    ASSERT_TRUE(record.ParseFromString(bytes_of(packed).substr(2)));
    record.clear_void_();
    record.mutable_requeue()->clear_entity();
    LogReader reader = reader_of(header_bytes() + framed(record) + end_bytes());
    const auto records = read_all(reader);
    ASSERT_EQ(records.size(), 1u);
    const auto& requeue = std::get<model::Requeue>(records[0]);
    EXPECT_EQ(requeue.lag_stored_ns, packed.body.lag_stored_ns);
    EXPECT_EQ(requeue.stamp.generation, packed.body.stamp.generation);
    EXPECT_FALSE(requeue.entity);
    EXPECT_EQ(reader.fallbacks(), 1u);
    EXPECT_EQ(reader.validity().count(Badness::kForeignLayout), 1u);
    EXPECT_TRUE(reader.validity().whole());
}

TEST(LogReader, HandsOutSamples) {
    Record record;
    record.mutable_sample()->set_cycle(9);
    record.mutable_sample()->set_latency_ns(-5);
    LogReader reader = reader_of(header_bytes() + framed(record) + end_bytes());
    const auto records = read_all(reader);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(std::get<model::Sample>(records[0]).cycle, 9u);
    EXPECT_EQ(std::get<model::Sample>(records[0]).latency_ns, -5);
    EXPECT_EQ(reader.validity().count(Badness::kForeignLayout), 0u);
}

// A pipe gives what it has; records cross the borders of reads and of the buffer.
TEST(LogReader, ReadsFromAPipe) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    constexpr std::uint64_t kRecords = 50'000;
    std::thread writer([end = Descriptor(ends[1])]() mutable {
        std::string bytes = header_bytes();
        for (std::uint64_t i = 1; i <= kRecords; ++i) bytes += marker(i, i);
        bytes += end_bytes();
        for (std::size_t at = 0; at < bytes.size();) {
            const ssize_t n = ::write(end.get(), bytes.data() + at,
                                      std::min<std::size_t>(7001, bytes.size() - at));
            if (n <= 0) break;
            at += static_cast<std::size_t>(n);
        }
    });
    LogReader reader(Descriptor(ends[0]), "pipe");
    std::uint64_t expected = 0;
    for (model::Record record; reader.next(record);) {
        ASSERT_EQ(std::get<model::Marker>(record).value, ++expected);
    }
    writer.join();
    EXPECT_EQ(expected, kRecords);
    EXPECT_TRUE(reader.validity().whole()) << reader.validity().summary();
}

TEST(LogWriter, WritesWhatTheReaderReads) {
    const std::string path = temporary_path("writer.fsl");
    {
        LogWriter writer(path, some_header());
        const std::string records = marker(1, 1) + marker(2, 2);
        writer.append(as_bytes(records));
        Record sample;
        sample.mutable_sample()->set_cycle(1);
        writer.append(sample);
        End end;
        end.set_reason("done");
        writer.close(end);
        EXPECT_EQ(writer.bytes(), std::filesystem::file_size(path));
        EXPECT_THROW(writer.append(as_bytes(records)), Failure);
    }
    LogReader reader(path);
    EXPECT_EQ(read_all(reader).size(), 3u);
    EXPECT_EQ(reader.end()->reason(), "done");
    EXPECT_TRUE(reader.validity().whole());
    std::filesystem::remove(path);
}

TEST(LogWriter, TellsAFullDisk) {
    try {
        LogWriter("/dev/full", some_header());
        FAIL() << "/dev/full took a header";
    } catch (const Failure& failure) {
        EXPECT_NE(std::string(failure.what()).find("No space left"), std::string::npos);
        EXPECT_EQ(failure.exit(), Exit::kRunFailed);
    }
}

TEST(LogWriter, NamesAPathThatCannotBe) {
    try {
        LogWriter("/nonexistent/folder/x.fsl", some_header());
        FAIL();
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        EXPECT_NE(std::string(failure.what()).find("/nonexistent/folder/x.fsl"), std::string::npos);
    }
}

#define FSW_EXPECT_u7(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_f32(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_s32(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_f64(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_s64(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_comm(name) EXPECT_EQ(a.name, b.name) << #name;
#define FSW_EXPECT_stamp(name) expect_same(a.name, b.name);
#define FSW_EXPECT_OPTIONAL(name)                               \
    ASSERT_EQ(a.name.has_value(), b.name.has_value()) << #name; \
    if (a.name) expect_same(*a.name, *b.name);
#define FSW_EXPECT_entity(name) FSW_EXPECT_OPTIONAL(name)
#define FSW_EXPECT_queue(name) FSW_EXPECT_OPTIONAL(name)
#define FSW_EXPECT_timer(name) FSW_EXPECT_OPTIONAL(name)
#define FSW_EXPECT(number, type, name) FSW_EXPECT_##type(name)
#define FSW_EXPECT_MESSAGE(Model, MESSAGE)                           \
    void expect_same(const model::Model& a, const model::Model& b) { \
        FSW_##MESSAGE##_FIELDS(FSW_EXPECT)                           \
    }
FSW_EXPECT_MESSAGE(Stamp, STAMP)
FSW_EXPECT_MESSAGE(Entity, ENTITY)
FSW_EXPECT_MESSAGE(Queue, QUEUE)
FSW_EXPECT_MESSAGE(Timer, TIMER)
FSW_EXPECT_MESSAGE(Decision, DECISION)
FSW_EXPECT_MESSAGE(Requeue, REQUEUE)
FSW_EXPECT_MESSAGE(Delay, DELAY)
FSW_EXPECT_MESSAGE(Wake, WAKE)
FSW_EXPECT_MESSAGE(Switch, SWITCH)
FSW_EXPECT_MESSAGE(Task, TASK)
FSW_EXPECT_MESSAGE(Swap, SWAP)
FSW_EXPECT_MESSAGE(Lost, LOST)
FSW_EXPECT_MESSAGE(Marker, MARKER)

// The overlay and libprotobuf see the same in the same bytes.
template <typename Model, typename Packed>
void expect_both_ways(const Packed& packed) {
    const std::string bytes = bytes_of(packed);
    model::Record fast, slow;
    ASSERT_TRUE(overlay(as_bytes(bytes), fast));
    Record message;
    ASSERT_TRUE(message.ParseFromString(bytes.substr(2)));
    ASSERT_TRUE(from_message(message, slow));
    ASSERT_TRUE(std::holds_alternative<Model>(fast));
    ASSERT_TRUE(std::holds_alternative<Model>(slow));
    expect_same(std::get<Model>(fast), std::get<Model>(slow));
}

TEST(Overlay, SeesWhatLibprotobufSees) {
    expect_both_ways<model::Decision>(testing::filled_record<fsw_decision_record>());
    expect_both_ways<model::Requeue>(testing::filled_record<fsw_requeue_record>());
    expect_both_ways<model::Delay>(testing::filled_record<fsw_delay_record>());
    expect_both_ways<model::Wake>(testing::filled_record<fsw_wake_record>());
    expect_both_ways<model::Switch>(testing::filled_record<fsw_switch_record>());
    expect_both_ways<model::Task>(testing::filled_record<fsw_task_record>());
    expect_both_ways<model::Swap>(testing::filled_record<fsw_swap_record>());
    expect_both_ways<model::Lost>(testing::filled_record<fsw_lost_record>());
    expect_both_ways<model::Marker>(testing::filled_record<fsw_marker_record>());
    auto decision = testing::filled_record<fsw_decision_record>();
    decision.body.picked_tag = decision.body.queue_tag = FSW_TAG_VOID;
    expect_both_ways<model::Decision>(decision);
    auto wake = testing::filled_record<fsw_wake_record>();
    wake.body.timer_tag = FSW_TAG_VOID;
    expect_both_ways<model::Wake>(wake);
}

// The mask covers every tag and length: whichever is changed, the overlay refuses. A value may
// change at will, but for the top bit of a one-byte varint.
TEST(Overlay, RefusesEveryChangedTagAndLength) {
    const std::string bytes = bytes_of(testing::record_template<fsw_decision_record>());
    std::size_t refused = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (bytes[at] == 0) continue;  // a value: in a template only tags and lengths aren't 0
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ 0x04);
        model::Record record;
        EXPECT_FALSE(overlay(as_bytes(changed), record)) << "byte " << at;
        ++refused;
    }
    // The frame's 5 bytes, the filling's 2, Decision's 13 tags and 5 lengths, the stamp's 6 tags,
    // 9 of each of three entities, the queue's 8.
    EXPECT_EQ(refused, 66u);
    std::string wide = bytes;
    wide[offsetof(fsw_decision_record, body) + offsetof(fsw_decision, verdict)] = '\x81';
    model::Record record;
    EXPECT_FALSE(overlay(as_bytes(wide), record));
    EXPECT_FALSE(overlay(as_bytes(bytes.substr(8)), record));
    EXPECT_FALSE(overlay({}, record));
}

TEST(Model, CommEndsAtItsFirstNul) {
    model::Comm comm{'a', 'b', '\0', 'c'};
    EXPECT_EQ(model::text(comm), "ab");
    comm.fill('x');
    EXPECT_EQ(model::text(comm).size(), comm.size());
}

TEST(Validity, EveryBadnessHasANameAndAMeaning) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(Badness::kCount); ++i) {
        EXPECT_FALSE(name(static_cast<Badness>(i)).empty());
        EXPECT_FALSE(meaning(static_cast<Badness>(i)).empty());
    }
}

}  // namespace
}  // namespace fairswitch
