// What the writer leaves behind: whole, packed, killed, on a full disk.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "tests/unit/log_files.h"
#include "userspace/base/failure.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

using namespace testing;
using Packing = LogWriter::Packing;

constexpr Packing kPackings[] = {Packing::kPlain, Packing::kZstd};

std::string contents(const std::string& path) {
    std::stringstream bytes;
    bytes << std::ifstream(path, std::ios::binary).rdbuf();
    return bytes.str();
}

// A log of markers 1..records.
std::string packed_log(Packing packing, std::uint64_t records) {
    const std::string path = temporary_path("packed.fsl");
    LogWriter writer(path, some_header(), packing);
    for (std::uint64_t i = 1; i <= records; ++i) writer.append(as_bytes(marker(i, i)));
    writer.close(End());
    const std::string bytes = contents(path);
    std::filesystem::remove(path);
    return bytes;
}

// Reads markers 1, 2, … and returns how many there were.
std::uint64_t count_markers(LogReader& reader) {
    std::uint64_t count = 0;
    for (model::Record record; reader.next(record);) {
        EXPECT_EQ(std::get<model::Marker>(record).value, ++count);
    }
    return count;
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

// A command line holds any bytes: the log must be read all the same.
TEST(LogWriter, NamesNeedNotBeUtf8) {
    const std::string path = temporary_path("bytes.fsl");
    Header header = some_header();
    header.set_command("fairswitch record -o caf\xe9.fsl");
    header.set_host("h\xff");
    {
        LogWriter writer(path, header);
        End end;
        end.set_reason("caf\xe9 isn't there");
        writer.close(end);
    }
    LogReader reader(path);
    EXPECT_EQ(count_markers(reader), 0u);
    EXPECT_EQ(reader.header().command(), header.command());
    EXPECT_EQ(reader.end()->reason(), "caf\xe9 isn't there");
    EXPECT_NE(describe(reader.parts().back()).find("host h?,"), std::string::npos);
    EXPECT_TRUE(reader.validity().whole()) << reader.validity().summary();
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

TEST(LogWriter, PackedReadsTheSame) {
    constexpr std::uint64_t kRecords = 100'000;  // several frames
    const std::string plain = packed_log(Packing::kPlain, kRecords);
    const std::string packed = packed_log(Packing::kZstd, kRecords);
    EXPECT_LT(packed.size(), plain.size() / 4);
    LogReader reader = reader_of(packed);
    EXPECT_EQ(count_markers(reader), kRecords);
    EXPECT_TRUE(reader.validity().whole()) << reader.validity().summary();
    EXPECT_EQ(reader.bytes(), packed.size());
    EXPECT_EQ(reader.fallbacks(), 0u);
}

TEST(LogWriter, PackedReadsFromAPipe) {
    const std::string packed = packed_log(Packing::kZstd, 50'000);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::thread writer([&packed, end = Descriptor(ends[1])] {
        for (std::size_t at = 0; at < packed.size();) {
            const ssize_t n = ::write(end.get(), packed.data() + at,
                                      std::min<std::size_t>(701, packed.size() - at));
            if (n <= 0) break;
            at += static_cast<std::size_t>(n);
        }
    });
    LogReader reader(Descriptor(ends[0]), "pipe");
    EXPECT_EQ(count_markers(reader), 50'000u);
    writer.join();
    EXPECT_TRUE(reader.validity().whole()) << reader.validity().summary();
}

// Wherever a packed log is cut, the frames before the cut are read, and the cut is told.
TEST(LogWriter, ACutLosesNoMoreThanTheLastFrame) {
    constexpr std::uint64_t kRecords = 60'000;
    constexpr std::uint64_t kFrameRecords = (1 << 20) / sizeof(fsw_marker_record);
    const std::string packed = packed_log(Packing::kZstd, kRecords);
    std::uint64_t before = 0;
    const std::size_t header = packed_log(Packing::kZstd, 0).size();
    for (std::size_t cut = header; cut < packed.size(); cut += 997) {
        LogReader reader = reader_of(packed.substr(0, cut));
        const std::uint64_t found = count_markers(reader);
        EXPECT_GE(found, before);  // the more there is, the more is read
        before = found;
        EXPECT_EQ(reader.validity().count(Badness::kNoEnd), 1u);
        EXPECT_EQ(reader.bytes(), cut);
    }
    EXPECT_GE(before + kFrameRecords, kRecords);
    LogReader reader = reader_of(packed.substr(0, packed.size() - 1));
    count_markers(reader);
    EXPECT_GT(reader.validity().count(Badness::kTornTail), 0u);
}

TEST(LogWriter, ADamagedFrameIsTold) {
    std::string packed = packed_log(Packing::kZstd, 60'000);
    packed[packed.size() / 2] ^= 0x55;
    LogReader reader = reader_of(packed);
    EXPECT_LT(count_markers(reader), 60'000u);
    EXPECT_GT(reader.validity().count(Badness::kCorruptFrame), 0u);
    EXPECT_EQ(reader.bytes(), packed.size());
}

// Little is written, so nothing fills the buffer: it must reach the file all the same.
TEST(LogWriter, WhatIsBufferedGoesOutAfterASecond) {
    for (const Packing packing : kPackings) {
        const std::string path = temporary_path("due.fsl");
        LogWriter writer(path, some_header(), packing);
        const auto empty = std::filesystem::file_size(path);
        writer.append(as_bytes(marker(1, 1)));
        writer.flush_if_due();
        EXPECT_EQ(std::filesystem::file_size(path), empty);
        std::this_thread::sleep_for(std::chrono::milliseconds(1100));
        writer.flush_if_due();
        LogReader reader(path);
        EXPECT_EQ(count_markers(reader), 1u);
        std::filesystem::remove(path);
    }
}

// In a child: appends markers until it is told to stop, or killed.
[[noreturn]] void write_for_ever(const std::string& path, Packing packing) {
    try {
        LogWriter writer(path, some_header(), packing);
        for (std::uint64_t i = 1;; ++i) {
            writer.append(as_bytes(marker(i, i)));
            writer.flush_if_due();
        }
    } catch (const Failure&) {
    }
    ::_exit(1);
}

TEST(LogWriter, KilledItLeavesAReadableLog) {
    for (const Packing packing : kPackings) {
        const std::string path = temporary_path("killed.fsl");
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) write_for_ever(path, packing);
        for (int tick = 0; tick < 1000; ++tick) {
            std::error_code error;
            const auto size = std::filesystem::file_size(path, error);
            if (!error && size > (64u << 10)) break;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        ::kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFSIGNALED(status));
        LogReader reader(path);
        EXPECT_GT(count_markers(reader), 1000u);
        EXPECT_EQ(reader.validity().count(Badness::kNoEnd), 1u);
        EXPECT_EQ(reader.validity().count(Badness::kSequenceGap), 0u);
        EXPECT_EQ(reader.validity().count(Badness::kCorruptFrame), 0u);
        std::filesystem::remove(path);
    }
}

// In a child, whose files may have no more than that.
[[noreturn]] void fill_disk(const std::string& path, Packing packing, rlim_t bytes) {
    ignore_write_signals();
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    LogWriter writer(path, some_header(), packing);
    std::string told;
    for (std::uint64_t i = 1; told.empty() && i < 10'000'000; ++i) {
        try {
            writer.append(as_bytes(marker(i, i)));
        } catch (const Failure& failure) {
            told = failure.what();
        }
    }
    const bool clear = told.find("File too large") != std::string::npos &&
                       told.find(path) != std::string::npos &&
                       told.find("written before it stay readable") != std::string::npos;
    ::_exit(clear ? 0 : 1);
}

TEST(LogWriter, AFullDiskIsToldAndLeavesAReadableLog) {
    // Ends inside a record.
    const rlim_t room = header_bytes().size() + 4500 * sizeof(fsw_marker_record) + 13;
    for (const Packing packing : kPackings) {
        const std::string path = temporary_path("full.fsl");
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) fill_disk(path, packing, room);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 0);
        EXPECT_EQ(std::filesystem::file_size(path), room);
        LogReader reader(path);
        EXPECT_GT(count_markers(reader), 4000u);
        EXPECT_GT(reader.validity().count(Badness::kTornTail), 0u);
        EXPECT_EQ(reader.validity().count(Badness::kNoEnd), 1u);
        std::filesystem::remove(path);
    }
}

// In a child: a limit that is raised once it was hit, as space is freed on a disk.
[[noreturn]] void go_on_after_failure(const std::string& path, Packing packing) {
    ignore_write_signals();
    ::setrlimit(RLIMIT_FSIZE, std::array{rlimit{20'001, RLIM_INFINITY}}.data());
    LogWriter writer(path, some_header(), packing);
    int failures = 0;
    for (std::uint64_t i = 1; i <= 50'000;) {
        try {
            writer.append(as_bytes(marker(i, i)));
            ++i;
        } catch (const Failure&) {
            ++failures;
            ::setrlimit(RLIMIT_FSIZE, std::array{rlimit{RLIM_INFINITY, RLIM_INFINITY}}.data());
        }
    }
    writer.close(End());
    ::_exit(failures == 1 ? 0 : 1);
}

// The log goes on in the middle of a record or frame and is whole.
TEST(LogWriter, GoesOnWhereAWriteFailed) {
    for (const Packing packing : kPackings) {
        const std::string path = temporary_path("failed.fsl");
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) go_on_after_failure(path, packing);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
        LogReader reader(path);
        EXPECT_EQ(count_markers(reader), 50'000u);
        EXPECT_TRUE(reader.validity().whole()) << reader.validity().summary();
        std::filesystem::remove(path);
    }
}

}  // namespace
}  // namespace fairswitch
