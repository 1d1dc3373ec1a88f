// Any protobuf tool reads a log with nothing but the schema in its header: here protoc.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/unit/log_files.h"
#include "tests/unit/real_records.h"
#include "tests/unit/scratch_folder.h"
#include "userspace/log/schema.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

using namespace testing;
namespace fs = std::filesystem;

class Protoc : public ::testing::Test {
  protected:
    // What protoc prints for one message, on one line.
    std::string decode(const std::string& message) {
        std::ofstream(dir_ + "/message", std::ios::binary) << message;
        const std::string command = "protoc --descriptor_set_in=" + dir_ +
                                    "/schema --decode=fairswitch.Record < " + dir_ +
                                    "/message 2>&1";
        std::FILE* pipe = ::popen(command.c_str(), "r");
        std::string text;
        for (int c; (c = std::fgetc(pipe)) != EOF;) {
            const bool space = c == ' ' || c == '\n';
            if (!space) text += static_cast<char>(c);
            if (space && !text.empty() && text.back() != ' ') text += ' ';
        }
        EXPECT_EQ(::pclose(pipe), 0) << text;
        return text;
    }

    // Bytes of a log or of a ring, cut into messages by their length prefixes alone.
    static std::vector<std::string> messages_of(std::string bytes) {
        std::vector<std::string> messages;
        while (!bytes.empty()) {
            const Framing frame = framing(as_bytes(bytes));
            EXPECT_GT(frame.prefix, 0);
            messages.push_back(bytes.substr(static_cast<std::size_t>(frame.prefix), frame.length));
            bytes.erase(0, static_cast<std::size_t>(frame.prefix) + frame.length);
        }
        return messages;
    }

    const testing::ScratchFolder folder_;
    const std::string dir_ = folder_.path();
};

// Without what is tagged 15: filling, and the bytes of absent submessages, which protoc prints by
// number since the schema gives them no name there.
std::string without_void(const std::string& text) {
    static const std::regex kVoid(R"re((void|15): "[^"]*" |15 \{[^{}]*\} )re");
    std::string result = std::regex_replace(text, kVoid, "");
    if (result.ends_with(' ')) result.pop_back();
    return result;
}

TEST_F(Protoc, ReadsALogWithTheSchemaInItsHeader) {
    const std::string path = dir_ + "/run.fsl";
    {
        Header header = some_header();
        header.set_schema(log_schema());
        LogWriter log(path, header);
        for (const RealCase& real : kRealCases) log.append(as_bytes(bytes_of_hex(real.hex)));
        log.close(End());
    }
    std::ofstream(dir_ + "/schema", std::ios::binary) << LogReader(path).header().schema();
    std::string bytes(fs::file_size(path), '\0');
    std::ifstream(path, std::ios::binary)
        .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const auto messages = messages_of(bytes);
    ASSERT_EQ(messages.size(), std::size(kRealCases) + 2);
    EXPECT_NE(decode(messages.front()).find("kernel_release: \"6.12.117"), std::string::npos);
    EXPECT_NE(decode(messages.back()).find("end {"), std::string::npos);
    for (std::size_t i = 0; i < std::size(kRealCases); ++i) {
        EXPECT_EQ(without_void(decode(messages[i + 1])), kRealCases[i].readable);
    }
}

}  // namespace
}  // namespace fairswitch
