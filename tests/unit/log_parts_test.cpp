// Logs joined by `cat`, and what the books at a recording's end are held against.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/unit/log_files.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

using namespace testing;

std::string header_of(const char* host) {
    Record record;
    *record.mutable_header() = some_header();
    record.mutable_header()->set_host(host);
    record.mutable_header()->set_host_id("0123");
    return framed(record);
}

// Of CPU 0: markers produced, dropped and stored.
std::string end_of(std::uint64_t produced, std::uint64_t dropped, std::uint64_t stored) {
    Record record;
    RingBooks& books = *record.mutable_end()->add_rings();
    for (int kind = 0; kind < FSW_KIND_COUNT; ++kind) {
        const bool it = kind == FSW_KIND_MARKER;
        books.add_produced(it ? produced : 0);
        books.add_dropped(it ? dropped : 0);
        books.add_stored(it ? stored : 0);
    }
    return framed(record);
}

std::string packed(const std::string& records) {
    const std::string path = temporary_path("part.fsl");
    Header header = some_header();
    header.set_host("packed");
    {
        LogWriter writer(path, header, LogWriter::Packing::kZstd);
        writer.append(as_bytes(records));
        writer.close(End());
    }
    std::string bytes(std::filesystem::file_size(path), 0);
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(::read(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    std::filesystem::remove(path);
    return bytes;
}

// However a part is cut, it costs that part its last record and the next one nothing. Cut within the
// field without meaning that fills up its record, perhaps not even that.
void expect_cut_parts(const std::string& last, std::size_t fill) {
    const std::string cut_part = header_of("cut") + marker(1) + marker(2) + last;
    const std::string next = header_of("next") + marker(3) + last + end_bytes();
    for (std::size_t cut = 1; cut < last.size(); ++cut) {
        LogReader reader = reader_of(cut_part.substr(0, cut_part.size() - cut) + next);
        const std::size_t records = read_all(reader).size();
        ASSERT_EQ(reader.parts().size(), 2u) << cut;
        const Validity& torn = reader.parts()[0].validity;
        if (cut <= fill && records == 5) {
            EXPECT_EQ(torn.count(Badness::kTornTail), cut);
        } else {
            EXPECT_EQ(records, 4u) << cut;
            EXPECT_EQ(torn.count(Badness::kTornTail), last.size() - cut);
        }
        EXPECT_EQ(torn.count(Badness::kNoEnd), 1u);
        EXPECT_EQ(reader.parts()[1].header.host(), "next");
        EXPECT_TRUE(reader.parts()[1].validity.whole()) << cut << reader.validity().summary();
    }
}

TEST(LogParts, ATornPartCostsTheNextNothing) {
    expect_cut_parts(bytes_of(testing::filled_record<fsw_decision_record>()), 9);
    expect_cut_parts(marker(4), 5);
}

TEST(LogParts, PartsAreFoundBehindGarbage) {
    const std::string garbage(300'000, '\xff');
    LogReader reader = reader_of(header_of("first") + marker(1) + garbage + header_of("second") +
                                 marker(2) + end_bytes());
    EXPECT_EQ(read_all(reader).size(), 2u);
    ASSERT_EQ(reader.parts().size(), 2u);
    EXPECT_EQ(reader.parts()[0].validity.count(Badness::kTornTail), garbage.size());
    EXPECT_TRUE(reader.parts()[1].validity.whole());
}

TEST(LogParts, EachHeaderBeginsAPartOfItsOwn) {
    // Sequence numbers and books of different hosts have nothing to do with each other.
    LogReader reader =
        reader_of(header_of("first") + marker(1, 5) + marker(2, 6) + end_of(2, 0, 2) +
                  header_of("second") + marker(3, 100) + end_of(1, 0, 1));
    model::Record record;
    ASSERT_TRUE(reader.next(record));
    EXPECT_EQ(reader.header().host(), "first");
    ASSERT_TRUE(reader.next(record));
    EXPECT_EQ(reader.parts().size(), 1u);
    ASSERT_TRUE(reader.next(record));
    EXPECT_EQ(reader.header().host(), "second");
    EXPECT_EQ(std::get<model::Marker>(record).value, 3u);
    EXPECT_FALSE(reader.next(record));
    ASSERT_EQ(reader.parts().size(), 2u);
    EXPECT_EQ(reader.parts()[0].records, 2u);
    EXPECT_EQ(reader.parts()[1].records, 1u);
    EXPECT_TRUE(reader.validity().whole()) << reader.validity().summary();
    EXPECT_NE(describe(reader.parts()[1]).find("host second (0123), kernel 6.12.117"),
              std::string::npos)
        << describe(reader.parts()[1]);
}

TEST(LogParts, APartWithoutEndIsCountedThere) {
    LogReader reader =
        reader_of(header_of("killed") + marker(1) + header_of("whole") + marker(2) + end_bytes());
    read_all(reader);
    EXPECT_EQ(reader.parts()[0].validity.count(Badness::kNoEnd), 1u);
    EXPECT_EQ(reader.parts()[1].validity.count(Badness::kNoEnd), 0u);
    EXPECT_EQ(reader.validity().count(Badness::kNoEnd), 1u);
}

TEST(LogParts, PackedAndPlainMayFollowEachOther) {
    const std::string plain = header_of("plain") + marker(1) + end_bytes();
    for (const std::string& bytes :
         {plain + packed(marker(2)), packed(marker(2)) + plain,
          packed(marker(1)) + packed(marker(2)),
          plain + packed(marker(2)) + plain + packed(marker(3)) + plain}) {
        LogReader reader = reader_of(bytes);
        std::size_t records = 0;
        for (model::Record record; reader.next(record);) ++records;
        EXPECT_EQ(records, reader.parts().size());
        EXPECT_GE(reader.parts().size(), 2u);
        EXPECT_TRUE(reader.validity().whole()) << reader.validity().summary();
        EXPECT_EQ(reader.bytes(), bytes.size());
    }
}

TEST(Books, MustBeMetByTheFile) {
    LogReader good = reader_of(header_of("h") + marker(1) + marker(2) + end_of(5, 3, 2));
    read_all(good);
    EXPECT_EQ(good.validity().count(Badness::kBooksOff), 0u);
    EXPECT_EQ(good.validity().count(Badness::kBooksUnbalanced), 0u);
    EXPECT_EQ(good.validity().count(Badness::kLost), 3u);

    LogReader missing = reader_of(header_of("h") + marker(1) + end_of(2, 0, 2));
    read_all(missing);
    EXPECT_EQ(missing.validity().count(Badness::kBooksOff), 1u);

    LogReader surplus = reader_of(header_of("h") + marker(1) + marker(2) + end_of(1, 0, 1));
    read_all(surplus);
    EXPECT_EQ(surplus.validity().count(Badness::kBooksOff), 1u);

    LogReader unbalanced = reader_of(header_of("h") + marker(1) + end_of(7, 1, 1));
    read_all(unbalanced);
    EXPECT_EQ(unbalanced.validity().count(Badness::kBooksUnbalanced), 5u);
    EXPECT_FALSE(unbalanced.validity().whole());
}

std::string lost_record(std::uint32_t cpu, std::uint64_t first_ns, std::uint64_t last_ns) {
    auto lost = record_template<fsw_lost_record>();
    lost.body.stamp.cpu = cpu;
    lost.body.first_ns = first_ns;
    lost.body.last_ns = last_ns;
    lost.body.decisions = 120;
    lost.body.wakes = 3;
    return bytes_of(lost);
}

TEST(Losses, AreToldByCpuKindAndTime) {
    Record end;
    RingBooks& books = *end.mutable_end()->add_rings();
    books.set_cpu(3);
    for (int kind = 0; kind < 8; ++kind) books.add_dropped(kind == FSW_KIND_TASK ? 1 : 0);
    LogReader reader = reader_of(header_of("h") + lost_record(1, 2'000'000'000, 2'100'000'000) +
                                 lost_record(1, 3'000'000'000, 3'500'000'000) + framed(end));
    read_all(reader);
    const Losses& losses = reader.parts().back().losses;
    EXPECT_EQ(losses.total(), 247u);
    const auto lines = losses.lines(1'000'000'000);
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(
        lines[0],
        "CPU 1: 240 decisions, 6 wakes lost in 2 stretches, from 1.000 s to 2.500 s; the ring "
        "was full");
    EXPECT_EQ(lines[1], "CPU 3: 1 tasks lost at the end; the ring was full");
}

// Lost records and the books count the same Briefs, under two names.
TEST(Losses, OfBriefsAreCountedOnce) {
    Record end;
    RingBooks& books = *end.mutable_end()->add_rings();
    books.set_cpu(1);
    for (int kind = 0; kind < FSW_KIND_COUNT; ++kind) {
        books.add_dropped(kind == FSW_KIND_BRIEF ? 120 : kind == FSW_KIND_WAKE ? 3 : 0);
    }
    LogReader reader = reader_of(header_of("h") + lost_record(1, 1, 2) + framed(end));
    read_all(reader);
    EXPECT_EQ(reader.parts().back().losses.total(), 123u);
    EXPECT_EQ(reader.validity().count(Badness::kLost), 123u);
}

}  // namespace
}  // namespace fairswitch
