// fairswitch-prove LOG PROOF [ARGUMENT]: the kernel tests' judge of a recorded log.
#include <cstdio>
#include <functional>

#include "tests/kernel/prove/proofs.h"
#include "userspace/base/failure.h"

namespace {

using fairswitch::prove::OrderedLog;

int run(int argc, char** argv) {
    using namespace fairswitch;
    if (argc < 3) fail(Exit::kUsage, "usage: fairswitch-prove LOG PROOF [CPUS|SWAPS|DETAIL]");
    const std::string argument = argc > 3 ? argv[3] : "0";
    const auto number = [&] { return static_cast<std::uint32_t>(std::stoul(argument)); };
    const std::map<std::string, std::function<void(const OrderedLog&)>> proofs{
        {"dequeue-delayed", prove::dequeue_delayed},
        {"lag-clamp", prove::lag_clamp},
        {"requeue-clock", prove::requeue_clock},
        {"cancel-protection", prove::cancel_protection},
        {"short-buddy", prove::short_buddy},
        {"hierarchical-idle", prove::hierarchical_idle},
        {"every-cpu", [&](const OrderedLog& log) { prove::every_cpu(log, number()); }},
        {"swaps", [&](const OrderedLog& log) { prove::swaps(log, number()); }},
        {"every-arm", [&](const OrderedLog& log) { prove::every_arm(log, number()); }},
        {"lag-bounds", prove::lag_bounds},
        {"books", prove::books},
        {"paths", prove::paths},
        {"tasks", prove::tasks},
        {"losses", prove::losses},
        {"trace", [&](const OrderedLog& log) { prove::trace(log, argument); }},
        {"flight", prove::flight},
        {"filter", prove::filter},
        {"detail", [&](const OrderedLog& log) { prove::detail(log, argument); }},
    };
    const auto proof = proofs.find(argv[2]);
    if (proof == proofs.end()) {
        std::string known;
        for (const auto& [name, function] : proofs) known += " " + name;
        fail(Exit::kUsage, "no proof '{}'; there are:{}", argv[2], known);
    }
    proof->second(prove::read_ordered(argv[1]));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const fairswitch::Failure& failure) {
        std::fprintf(stderr, "fairswitch-prove: %s\n", failure.what());
        return static_cast<int>(failure.exit());
    }
}
