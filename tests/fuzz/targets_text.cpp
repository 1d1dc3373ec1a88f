#include <array>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tests/fuzz/targets.h"
#include "userspace/analysis/cyclictest.h"
#include "userspace/base/failure.h"
#include "userspace/device/arm.h"
#include "userspace/device/device.h"
#include "userspace/device/filter.h"
#include "userspace/device/flight.h"
#include "userspace/graft/kallsyms.h"
#include "userspace/graft/semantic_patch.h"
#include "userspace/log/filter_text.h"
#include "userspace/workload/waker_text.h"

namespace fairswitch::fuzz {
namespace {

void promise(bool kept) {
    if (!kept) std::abort();
}

std::string text_of(Input input) {
    return std::string(reinterpret_cast<const char*>(input.data()), input.size());
}

}  // namespace

void run_cyclictest(Input input) {
    CyclicCommand command;
    if (!input.empty()) {
        command.nanoseconds = (input[0] & std::byte{1}) != std::byte{};
        command.reduction = 1 + (std::to_integer<unsigned>(input[0]) >> 1) % 4;
        input = input.subspan(1);
    }
    std::istringstream in(text_of(input));
    const CyclicOutput out = CyclicOutput::parse(in, command);
    promise(out.cycle_gaps + out.cycle_repeats == 0 || out.samples.size() > 1);
    promise((out.unparsed_lines == 0) == out.first_unparsed.empty());
    std::size_t of_threads = 0;
    for (const CyclicSummary& summary : out.summaries)
        of_threads += out.of_thread(summary.thread).size();
    promise(of_threads <= out.samples.size());
    if (out.histogram) out.histogram->counted(0);
}

void run_command_line(Input input) {
    try {
        const CyclicCommand command = CyclicCommand::parse(text_of(input));
        promise(command.interval_us > 0 && command.reduction > 0);
    } catch (const Failure&) {
    }
}

void run_arm(Input input) {
    static const std::vector<Variant> kVariants = {
        {.index = 0, .id = "dequeue-delayed", .stock_with = false},
        {.index = 1, .id = "lag-clamp", .stock_with = true},
        {.index = 15, .id = "requeue-clock", .stock_with = false},
    };
    try {
        const ArmSpec arm = parse_arm(text_of(input), kVariants);
        promise((arm.positions & ~0x8003u) == 0);
        promise(!describe_positions(arm.positions, kVariants).empty());
    } catch (const Failure&) {
    }
}

// A header, a NUL, the source before, a NUL, the source after.
void run_semantic_patch(Input input) {
    const std::string text = text_of(input);
    const std::size_t first = std::min(text.find('\0'), text.size());
    const std::size_t second = std::min(text.find('\0', first + 1), text.size());
    try {
        const SemanticPatch patch = SemanticPatch::parse(text.substr(0, first), "fuzz.cocci");
        const std::string before = text.substr(std::min(first + 1, second), second - first);
        const PatchOutcome outcome = judge(patch, before, text.substr(second), "FSW_V_LAG_CLAMP");
        promise(!outcome.matched || outcome.touched);
    } catch (const Failure&) {
    }
}

void run_kallsyms(Input input) {
    try {
        const Kallsyms symbols = Kallsyms::parse(text_of(input), "fuzz");
        for (const std::uint64_t address : symbols.addresses("_text")) {
            promise(symbols.position("_text", address).has_value());
            promise(!symbols.names_at(address).empty());
        }
        promise(!symbols.describe(~std::uint64_t{0}).empty());
    } catch (const Failure&) {
    }
}

// The first byte chooses what the text is.
void run_filter(Input input) {
    if (input.empty()) return;
    const std::string text = text_of(input.subspan(1));
    try {
        FilterOptions options;
        switch (std::to_integer<unsigned>(input[0]) % 5) {
            case 0:
                options.cpus = text;
                break;
            case 1:
                options.paths = text;
                break;
            case 2:
                options.comm = text;
                break;
            case 3:
                promise(parse_trigger(text) > 0);
                break;
            default:
                parse_duration_ns(text, "--before");
        }
        const ParsedFilter filter = parse_filter(options);
        promise(filter.used != filter_text(filter.log).empty());
    } catch (const Failure&) {
    }
}

void run_waker(Input input) {
    std::istringstream in(text_of(input));
    const bool is_one = WakerOutput::is_one(in);
    promise(!is_one || in.tellg() == std::streampos(0));
    const WakerOutput out = WakerOutput::parse(in);
    promise((out.unparsed_lines == 0) == out.first_unparsed.empty());
}

std::span<const Target> targets() {
    static constexpr std::array kTargets = {
        Target{"log", run_log},
        Target{"packed_log", run_packed_log},
        Target{"record", run_record},
        Target{"ring", run_ring},
        Target{"cyclictest", run_cyclictest},
        Target{"command_line", run_command_line},
        Target{"arm", run_arm},
        Target{"semantic_patch", run_semantic_patch},
        Target{"kallsyms", run_kallsyms},
        Target{"filter", run_filter},
        Target{"waker", run_waker},
    };
    return kTargets;
}

}  // namespace fairswitch::fuzz
