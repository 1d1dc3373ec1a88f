// fairswitch-pack LOG OUT: writes a plain log's records again, packed, as `record --zstd` does, and
// prints "pack decisions bytes packed_bytes seconds". For the ratio on a real recording.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/bench/program.h"
#include "userspace/base/failure.h"
#include "userspace/log/reader.h"
#include "userspace/log/writer.h"

namespace fairswitch {
namespace {

std::string whole(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) fail(Exit::kUsage, "can't open {}", path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t count_decisions(const std::string& path) {
    LogReader reader(path);
    model::Record record;
    std::uint64_t decisions = 0;
    while (reader.next(record)) {
        decisions += std::holds_alternative<model::Decision>(record) ||
                     std::holds_alternative<model::Brief>(record);
    }
    if (!reader.end()) fail(Exit::kRunFailed, "{} is not whole", path);
    return decisions;
}

Bytes first_record(Bytes bytes) {
    const Framing frame = framing(bytes);
    if (frame.prefix <= 0) fail(Exit::kRunFailed, "this log is packed already, or none");
    return bytes.first(static_cast<std::size_t>(frame.prefix) + frame.length);
}

int run(int argc, char** argv) {
    if (argc != 3) fail(Exit::kUsage, "usage: fairswitch-pack LOG OUT");
    const std::uint64_t decisions = count_decisions(argv[1]);
    const std::string log = whole(argv[1]);
    Bytes rest = std::as_bytes(std::span(log));
    // The header is the writer's to make; the End goes verbatim, behind which close() adds its own.
    rest = rest.subspan(first_record(rest).size());
    const Header header = LogReader(argv[1]).header();
    const auto begin = std::chrono::steady_clock::now();
    LogWriter packed(argv[2], header, LogWriter::Packing::kZstd);
    while (!rest.empty()) {
        const Bytes record = first_record(rest);
        packed.append(record);
        rest = rest.subspan(record.size());
    }
    packed.flush();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    fmt::print("pack {} {} {} {:.4f}\n", decisions, log.size(), packed.bytes(), seconds.count());
    return 0;
}

}  // namespace
}  // namespace fairswitch

int main(int argc, char** argv) {
    return fairswitch::run_program("fairswitch-pack", fairswitch::run, argc, argv);
}
