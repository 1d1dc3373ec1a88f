// Logs for tests: their bytes, and readers of them.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/records.h"
#include "userspace/log/reader.h"

namespace fairswitch::testing {

inline Header some_header() {
    Header header;
    header.set_kernel_release("6.12.117+deb12-cloud-amd64");
    header.set_cpus(2);
    return header;
}

inline std::string header_bytes() {
    Record record;
    *record.mutable_header() = some_header();
    return framed(record);
}

inline std::string end_bytes() {
    Record record;
    record.mutable_end()->set_reason("test");
    return framed(record);
}

inline std::string marker(std::uint64_t value, std::uint64_t seq = 0, std::uint32_t rq_cpu = 0) {
    auto record = testing::record_template<fsw_marker_record>();
    record.body.value = value;
    record.body.stamp.seq = seq;
    record.body.stamp.rq_cpu = rq_cpu;
    return bytes_of(record);
}

// A reader of these bytes, as a file in memory.
inline LogReader reader_of(const std::string& bytes) {
    Descriptor file(::memfd_create("log", MFD_CLOEXEC));
    EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::lseek(file.get(), 0, SEEK_SET);
    return LogReader(std::move(file), "test.fsl");
}

inline std::vector<model::Record> read_all(LogReader& reader) {
    std::vector<model::Record> records;
    for (model::Record record; reader.next(record);) records.push_back(record);
    return records;
}

inline std::string temporary_path(const char* name) {
    return (std::filesystem::temp_directory_path() /
            (std::string("fairswitch-") + std::to_string(::getpid()) + "-" + name))
        .string();
}

}  // namespace fairswitch::testing
