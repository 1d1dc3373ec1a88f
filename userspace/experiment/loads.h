// The programs that run beside what is measured. One that ends is started again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proto/experiment.pb.h"
#include "userspace/experiment/child_process.h"

namespace fairswitch {

class Loads {
  public:
    using Programs = google::protobuf::RepeatedPtrField<Program>;
    // Called before a program's first instruction, each time that it is started.
    using Place = std::function<void(const ChildProcess& child, const Program& program)>;

    // Outputs go to load.txt, load-2.txt and so on in `out`. `programs` outlives this.
    Loads(const Programs& programs, std::string out, Place place)
        : programs_(programs), out_(std::move(out)), place_(std::move(place)) {}

    // The first start of programs()[number]; in order.
    void start(size_t number);
    // Starts again what has ended. Throws Failure if one failed or has hardly run.
    void check();

    struct Ran {
        double seconds = 0;  // of the one that ran longest
        std::string text;    // of each
    };
    Ran stop(std::chrono::milliseconds patience);

  private:
    struct Load {
        std::unique_ptr<ChildProcess> process;
        uint32_t runs = 0;
        std::chrono::steady_clock::time_point begin;
        double seconds = 0;  // sum over completed runs

        double running_for() const;
    };

    void run(size_t number);
    void check(size_t number);
    const Program& program(size_t number) const { return programs_[static_cast<int>(number)]; }

    const Programs& programs_;
    const std::string out_;
    const Place place_;
    std::vector<Load> loads_;
};

}  // namespace fairswitch
