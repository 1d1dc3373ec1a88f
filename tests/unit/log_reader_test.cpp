// Logs good and bad, through the writer, the reader and the overlay.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/unit/log_files.h"
#include "tests/unit/records.h"
#include "userspace/base/failure.h"
#include "userspace/log/reader.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

using namespace testing;

std::string message_of_failure(const std::string& bytes) {
    try {
        reader_of(bytes);
    } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit(), Exit::kUsage);
        return failure.what();
    }
    return "";
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
    LogReader reader = reader_of(header_bytes() + undecodable + marker(1) + unknown + marker(2) +
                                 end_bytes() + marker(3));
    EXPECT_EQ(read_all(reader).size(), 3u);
    const Validity validity = reader.validity();
    EXPECT_EQ(validity.count(Badness::kUndecodable), 1u);
    EXPECT_EQ(validity.count(Badness::kUnknownKind), 1u);
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
    for (const std::uint32_t cpu : {0, 1}) {
        RingBooks& books = *end.mutable_end()->add_rings();
        books.set_cpu(cpu);
        for (int kind = 0; kind < FSW_KIND_DECISION; ++kind) books.add_dropped(0);
        books.add_dropped(cpu == 0 ? 4 : 1);
    }
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
