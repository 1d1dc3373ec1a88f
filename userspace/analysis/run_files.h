// The files of a run, and of the parts of one that was resumed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/experiment.pb.h"

namespace fairswitch {

// A part that was begun by `ab --resume`: a log and an output of the measuring program of its own.
struct ResumedFiles {
    std::string log;
    std::string measure;  // empty: none
};

struct RunFiles {
    std::string log;
    std::string cyclictest;         // empty: none
    std::string plan;               // empty: none
    bool cyclictest_named = false;  // by the user, who expects samples in it
    // Of a log of several recordings, the one that is meant, from 1; 0: there is only one.
    size_t part = 0;
    std::vector<ResumedFiles> resumed;  // in order of time

    // `path` is a run's directory or a log; `cyclictest` overrides the output found there.
    static RunFiles find(const std::string& path, const std::string& cyclictest = "");
};

// "run.fsl" of part 2 is "run-2.fsl".
std::string part_file(const std::string& name, uint32_t part);

Experiment read_plan(const std::string& path);
// The file is the old one or the new one, whenever we are killed.
void write_plan(const std::string& path, const Experiment& plan);
// Any message as protobuf text, with its type named on top.
void write_text_proto(const std::string& path, const std::string& type,
                      const google::protobuf::Message& message);

}  // namespace fairswitch
