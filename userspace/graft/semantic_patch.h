// A semantic patch file (.cocci) of the module: a tap, or one form of a variant.
//
// Its header comment says what it must achieve, and thereby which functions it may change:
//   // title: one line for people
//   // construct: what was looked for, named when it isn't there
//   // expect: FUNCTION N            N gates of the variant in FUNCTION afterwards
//   // expect: FUNCTION CALLEE N     N calls of CALLEE in FUNCTION afterwards
//   // expect-include: HEADER        an #include of HEADER afterwards
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fairswitch {

struct SemanticPatch {
    struct Expectation {
        std::string function;
        std::string callee;  // empty: gates of the variant
        size_t count;
    };

    std::filesystem::path path;
    std::string title;
    std::string construct;
    std::vector<Expectation> expectations;
    std::vector<std::string> includes;

    static SemanticPatch read(const std::filesystem::path& path);
    // `path` names the text in messages.
    static SemanticPatch parse(const std::string& text, const std::filesystem::path& path);
};

// What a patch did to a source file.
struct PatchOutcome {
    bool matched = false;          // every expectation met exactly, and nothing elsewhere
    bool touched = false;          // it changed something, though perhaps not what was expected
    std::string found;             // for people: "dequeue_entity 1 of 2"
    std::filesystem::path result;  // the transformed source
};

// Compares the source before and after. Gates of the variant whose macro is `gate_name`
// (FSW_V_...) may stand in the expected functions only; fsw_hygiene() counts as a gate.
PatchOutcome judge(const SemanticPatch& patch, const std::string& before, const std::string& after,
                   const std::string& gate_name);

// Runs spatch on `input`, writing `output`. A patch that only expects something of functions gets to
// see those functions alone: the rest can't be changed by it, and need not be parsed each time.
PatchOutcome apply(const SemanticPatch& patch, const std::filesystem::path& input,
                   const std::filesystem::path& output, const std::string& gate_name);

}  // namespace fairswitch
