#include "userspace/experiment/live_samples.h"

#include <algorithm>
#include <sstream>

#include "userspace/base/failure.h"

namespace fairswitch {

LiveSamples::LiveSamples(const std::string& path) : path_(path) {}

void LiveSamples::update() {
    std::ifstream in(path_, std::ios::binary);
    if (!in) fail(Exit::kRunFailed, "cannot read {}", path_);
    in.seekg(offset_);
    std::stringstream text;
    text << in.rdbuf();
    std::string whole = text.str();
    whole.resize(whole.rfind('\n') == std::string::npos ? 0 : whole.rfind('\n') + 1);
    offset_ += static_cast<std::streamoff>(whole.size());
    std::istringstream lines(whole);
    const WakerOutput out = WakerOutput::parse(lines);
    if (out.unparsed_lines)
        fail(Exit::kRunFailed, "{} isn't what `fairswitch waker` prints: {}", path_,
             out.first_unparsed);
    samples_.insert(samples_.end(), out.samples.begin(), out.samples.end());
    dropped_ += out.dropped;
}

std::vector<int64_t> LiveSamples::between(uint64_t begin_ns, uint64_t end_ns) const {
    std::vector<int64_t> latencies;
    for (const WakerSample& sample : samples_) {
        const auto expected = static_cast<uint64_t>(sample.expected_ns);
        if (expected >= begin_ns && expected < end_ns)
            latencies.push_back(sample.ran_ns - sample.expected_ns);
    }
    return latencies;
}

void LiveSamples::forget_before(uint64_t moment_ns) {
    std::erase_if(samples_, [&](const WakerSample& sample) {
        return static_cast<uint64_t>(sample.expected_ns) < moment_ns;
    });
}

}  // namespace fairswitch
