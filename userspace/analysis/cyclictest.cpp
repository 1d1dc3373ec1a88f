#include "userspace/analysis/cyclictest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <istream>
#include <sstream>

namespace fairswitch {
namespace {

// Cursor movements are printed between repeated summaries on a terminal.
std::string without_escapes(const std::string& line) {
    std::string out;
    for (size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\033' && i + 1 < line.size() && line[i + 1] == '[') {
            i += 2;
            while (i < line.size() && !std::isalpha(static_cast<unsigned char>(line[i]))) ++i;
        } else if (line[i] != '\r') {
            out += line[i];
        }
    }
    return out;
}

bool only(const std::string& text, const char* allowed) {
    return text.find_first_not_of(allowed) == std::string::npos;
}

bool parse_sample(const std::string& line, int64_t unit_ns, CyclicSample& ret_sample) {
    if (!only(line, "0123456789: -")) return false;
    long long latency = 0;
    unsigned thread = 0;
    unsigned long long cycle = 0;
    int used = 0;
    if (std::sscanf(line.c_str(), " %u : %llu : %lld %n", &thread, &cycle, &latency, &used) != 3)
        return false;
    if (static_cast<size_t>(used) != line.size()) return false;
    // Digits that ran together, as a starved printer leaves them.
    if (latency > INT64_MAX / unit_ns || latency < INT64_MIN / unit_ns) return false;
    ret_sample = {thread, cycle, latency * unit_ns};
    return true;
}

bool parse_summary(const std::string& line, CyclicSummary& ret_summary) {
    CyclicSummary& s = ret_summary;
    unsigned long long interval = 0, cycles = 0;
    long long min = 0, act = 0, avg = 0, max = 0;
    int found = std::sscanf(
        line.c_str(), " T:%u (%u) P:%d I:%llu C:%llu Min:%lld Act:%lld Avg:%lld Max:%lld",
        &s.thread, &s.tid, &s.priority, &interval, &cycles, &min, &act, &avg, &max);
    if (found != 9) return false;
    s.interval_us = interval;
    s.cycles = cycles;
    s.min = min;
    s.act = act;
    s.avg = avg;
    s.max = max;
    return true;
}

std::vector<uint64_t> numbers(const std::string& text) {
    std::istringstream in(text);
    std::vector<uint64_t> out;
    for (uint64_t value; in >> value;) out.push_back(value);
    return out;
}

bool starts_with(const std::string& text, std::string_view head) {
    return text.compare(0, head.size(), head) == 0;
}

bool is_known_remark(const std::string& line) {
    static constexpr std::array<std::string_view, 13> kHeads = {"Max CPUs",
                                                                "Online CPUs",
                                                                "Thread ",
                                                                "# /dev/cpu_dma_latency",
                                                                "policy:",
                                                                "WARN",
                                                                "INFO",
                                                                "ERROR",
                                                                "defaulting ",
                                                                "# Min Latencies",
                                                                "# Avg Latencies",
                                                                "# Max Latencies",
                                                                "# Thread "};
    return std::any_of(kHeads.begin(), kHeads.end(),
                       [&](std::string_view head) { return starts_with(line, head); });
}

// Reads the lines of one histogram; `false`: the line isn't part of it.
class HistogramReader {
  public:
    explicit HistogramReader(CyclicOutput& out) : out_(out) {}

    bool take(const std::string& line) {
        if (line == "# Histogram") {
            out_.histogram.emplace();
            return true;
        }
        if (!out_.histogram) return false;
        if (starts_with(line, "# Total:")) return list(line, 8, out_.histogram->totals);
        if (starts_with(line, "# Histogram Overflows:"))
            return list(line, 22, out_.histogram->overflows);
        if (starts_with(line, "# Histogram Overflow at")) return true;
        return row(line);
    }

  private:
    bool list(const std::string& line, size_t head, std::vector<uint64_t>& ret_list) {
        ret_list = numbers(line.substr(head));
        return true;
    }

    bool row(const std::string& line) {
        if (line.empty() || !only(line, "0123456789 \t")) return false;
        std::vector<uint64_t> values = numbers(line);
        if (values.size() < 2) return false;
        auto value = static_cast<int64_t>(values.front());
        values.erase(values.begin());
        out_.histogram->counts[value] = std::move(values);
        return true;
    }

    CyclicOutput& out_;
};

void keep_last(std::vector<CyclicSummary>& summaries, const CyclicSummary& summary) {
    for (CyclicSummary& known : summaries) {
        if (known.thread == summary.thread) {
            known = summary;
            return;
        }
    }
    summaries.push_back(summary);
}

void count_gaps(CyclicOutput& out, uint32_t reduction) {
    std::map<uint32_t, uint64_t> last;
    for (const CyclicSample& sample : out.samples) {
        auto found = last.find(sample.thread);
        if (found != last.end()) {
            if (sample.cycle <= found->second) {
                ++out.cycle_repeats;
                continue;
            }
            uint64_t step = sample.cycle - found->second;
            if (step > reduction) out.cycle_gaps += step - reduction;
        }
        last[sample.thread] = sample.cycle;
    }
}

}  // namespace

uint64_t CyclicHistogram::counted(size_t thread) const {
    uint64_t sum = 0;
    for (const auto& [value, row] : counts)
        if (thread < row.size()) sum += row[thread];
    return sum;
}

CyclicOutput CyclicOutput::parse(std::istream& in, const CyclicCommand& command) {
    CyclicOutput out;
    HistogramReader histogram(out);
    const int64_t unit_ns = command.nanoseconds ? 1 : 1000;
    for (std::string raw; std::getline(in, raw);) {
        const std::string line = without_escapes(raw);
        // A line that the end of the file cut off may hold half a number: it is no sample.
        const bool torn = in.eof();
        CyclicSample sample;
        CyclicSummary summary;
        if (line.find_first_not_of(" \t") == std::string::npos) continue;
        if (!torn && parse_sample(line, unit_ns, sample)) {
            out.samples.push_back(sample);
        } else if (!torn && parse_summary(line, summary)) {
            keep_last(out.summaries, summary);
        } else if (!histogram.take(line) && !is_known_remark(line)) {
            if (out.unparsed_lines++ == 0) out.first_unparsed = line;
        }
    }
    count_gaps(out, command.reduction);
    return out;
}

std::vector<CyclicSample> CyclicOutput::of_thread(uint32_t thread) const {
    std::vector<CyclicSample> out;
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(out),
                 [&](const CyclicSample& sample) { return sample.thread == thread; });
    return out;
}

}  // namespace fairswitch
