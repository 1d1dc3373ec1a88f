#include "userspace/workload/waker_text.h"

#include <fmt/format.h>

#include <istream>
#include <sstream>

namespace fairswitch {
namespace {

bool parse_sample(const std::string& line, WakerOutput& out) {
    std::istringstream in(line);
    WakerSample sample;
    std::string rest;
    if (!(in >> sample.thread >> sample.period >> sample.expected_ns >> sample.ran_ns) ||
        in >> rest || sample.ran_ns < sample.expected_ns || sample.expected_ns <= 0)
        return false;
    out.samples.push_back(sample);
    return true;
}

bool parse_fact(const std::string& line, WakerOutput& out) {
    std::istringstream in(line);
    std::string word, a, b, c;
    uint32_t thread = 0;
    uint64_t first = 0, count = 0;
    if (!(in >> word >> thread)) return false;
    if (word == "skip" && in >> first >> count) {
        out.skipped += count;
        return true;
    }
    if (word == "dropped" && in >> count) {
        out.dropped += count;
        return true;
    }
    WakerEnd end{.thread = thread};
    if (word != "end" || !(in >> a >> end.slept >> b >> end.skipped >> c >> end.dropped) ||
        a != "slept" || b != "skipped" || c != "dropped")
        return false;
    out.ends.push_back(end);
    return true;
}

bool understood(const std::string& line, WakerOutput& out) {
    if (line.empty() || line[0] == '#') return true;
    const bool number = line[0] >= '0' && line[0] <= '9';
    return number ? parse_sample(line, out) : parse_fact(line, out);
}

}  // namespace

std::string waker_line(const WakerSample& sample) {
    return fmt::format("{} {} {} {}\n", sample.thread, sample.period, sample.expected_ns,
                       sample.ran_ns);
}

std::string waker_skip_line(uint32_t thread, uint64_t first, uint64_t count) {
    return fmt::format("skip {} {} {}\n", thread, first, count);
}

std::string waker_dropped_line(uint32_t thread, uint64_t count) {
    return fmt::format("dropped {} {}\n", thread, count);
}

std::string waker_end_line(const WakerEnd& end) {
    return fmt::format("end {} slept {} skipped {} dropped {}\n", end.thread, end.slept,
                       end.skipped, end.dropped);
}

bool WakerOutput::is_one(std::istream& in) {
    const auto begin = in.tellg();
    std::string line;
    std::getline(in, line);
    in.clear();
    in.seekg(begin);
    return line == kWakerHead;
}

WakerOutput WakerOutput::parse(std::istream& in) {
    WakerOutput out;
    for (std::string line; std::getline(in, line);) {
        if (understood(line, out)) continue;
        if (out.unparsed_lines++ == 0) out.first_unparsed = line;
    }
    return out;
}

}  // namespace fairswitch
