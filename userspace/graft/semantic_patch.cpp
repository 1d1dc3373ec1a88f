#include "userspace/graft/semantic_patch.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>

#include "userspace/base/failure.h"
#include "userspace/graft/c_scanner.h"
#include "userspace/graft/elf_object.h"
#include "userspace/graft/process.h"

namespace fairswitch {
namespace fs = std::filesystem;
namespace {

// The value of "// KEY: value"; false for another line.
bool header_value(const std::string& line, const std::string& key, std::string& value) {
    const auto start = "// " + key + ":";
    if (line.compare(0, start.size(), start) != 0) return false;
    const auto at = line.find_first_not_of(" \t", start.size());
    value = at == std::string::npos ? std::string() : line.substr(at);
    return true;
}

// A gate of this variant. fsw_hygiene() may be used without a name; then it is the patch's own.
bool is_gate(const CCall& call, const std::string& gate_name) {
    if (call.callee != "fsw_with" && call.callee != "fsw_hygiene") return false;
    const auto at = call.arguments.find("FSW_V_");
    if (at == std::string::npos) return call.callee == "fsw_hygiene";
    const auto end = call.arguments.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at);
    return call.arguments.substr(at, end - at) == gate_name;
}

std::map<std::string, long> gates_by_function(const std::vector<CCall>& calls,
                                              const std::string& gate_name) {
    std::map<std::string, long> counts;
    for (const auto& call : calls) {
        if (is_gate(call, gate_name)) ++counts[call.function];
    }
    return counts;
}

long count_calls(const std::vector<CCall>& calls, const std::string& function,
                 const std::string& callee) {
    return std::count_if(calls.begin(), calls.end(), [&](const CCall& call) {
        return call.function == function && call.callee == callee;
    });
}

SemanticPatch::Expectation parse_expectation(const fs::path& path, const std::string& value) {
    std::istringstream in(value);
    const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
    const auto& last = words.empty() ? value : words.back();
    const bool number = !last.empty() && last.find_first_not_of("0123456789") == std::string::npos;
    if (words.size() < 2 || words.size() > 3 || !number || last.size() > 4) {
        fail(Exit::kRunFailed, "{}: '// expect: {}' is not of the form FUNCTION [CALLEE] COUNT",
             path.string(), value);
    }
    return {words[0], words.size() == 3 ? words[1] : "", std::stoul(last)};
}

}  // namespace

SemanticPatch SemanticPatch::read(const fs::path& path) { return parse(read_file(path), path); }

SemanticPatch SemanticPatch::parse(const std::string& text, const fs::path& path) {
    SemanticPatch patch;
    patch.path = path;
    std::istringstream lines(text);
    std::string value;
    for (std::string line; std::getline(lines, line);) {
        if (header_value(line, "title", value)) patch.title = value;
        if (header_value(line, "construct", value)) patch.construct = value;
        if (header_value(line, "expect-include", value)) patch.includes.push_back(value);
        if (header_value(line, "expect", value)) {
            patch.expectations.push_back(parse_expectation(path, value));
        }
    }
    if (patch.expectations.empty() && patch.includes.empty()) {
        fail(Exit::kRunFailed,
             "{}: has no '// expect:' line, so nothing could tell whether it applied",
             path.string());
    }
    return patch;
}

PatchOutcome judge(const SemanticPatch& patch, const std::string& before, const std::string& after,
                   const std::string& gate_name) {
    PatchOutcome outcome;
    outcome.touched = before != after;
    outcome.matched = outcome.touched;
    const auto calls = find_calls(after, "fsw_");
    auto gates = gates_by_function(calls, gate_name);
    for (const auto& [function, count] : gates_by_function(find_calls(before, "fsw_"), gate_name)) {
        gates[function] -= count;
    }
    const auto note = [&outcome](const std::string& text) {
        outcome.found += (outcome.found.empty() ? "" : ", ") + text;
    };
    for (const auto& [function, callee, wanted] : patch.expectations) {
        const long found = callee.empty() ? gates[function] : count_calls(calls, function, callee);
        if (callee.empty()) gates.erase(function);
        if (found == static_cast<long>(wanted)) continue;
        outcome.matched = false;
        note(fmt::format("{} of {} {} in {}", found, wanted, callee.empty() ? "gates" : callee,
                         function));
    }
    for (const auto& header : patch.includes) {
        if (after.find("#include \"" + header + "\"") != std::string::npos) continue;
        outcome.matched = false;
        note("no #include of " + header);
    }
    for (const auto& [function, count] : gates) {
        if (count == 0) continue;
        outcome.matched = false;
        note(fmt::format("{} unexpected gates in {}", count,
                         function.empty() ? "file scope" : function));
    }
    return outcome;
}

namespace {

// Naming what isn't there needs no run of spatch, and forms for other kernels are common.
std::string missing_function(const SemanticPatch& patch, const std::string& source) {
    for (const auto& expectation : patch.expectations) {
        if (!defines_function(source, expectation.function)) return expectation.function;
    }
    return "";
}

// spatch ends with an error when it can tell that no rule could ever apply to the file.
bool says_inapplicable(const std::string& output) {
    return output.find("can not be applied because there are no") != std::string::npos;
}

// The functions of `source` that the patch speaks of; nothing if it needs the whole file.
std::vector<CFunction> wanted_functions(const SemanticPatch& patch, const std::string& source) {
    if (!patch.includes.empty()) return {};
    auto functions = find_functions(source);
    const auto wanted = [&patch](const CFunction& function) {
        return std::any_of(patch.expectations.begin(), patch.expectations.end(),
                           [&](const auto& one) { return one.function == function.name; });
    };
    functions.erase(std::remove_if(functions.begin(), functions.end(), std::not_fn(wanted)),
                    functions.end());
    return functions;
}

std::string excerpt(const std::string& source, const std::vector<CFunction>& functions) {
    std::string text;
    for (const auto& function : functions) {
        text += source.substr(function.begin, function.end - function.begin) + "\n\n";
    }
    return text;
}

// `source` with its `functions` replaced by those of `changed`, which are the same in number and
// order.
std::string put_back(const SemanticPatch& patch, const std::string& source,
                     const std::vector<CFunction>& functions, const std::string& changed) {
    std::string text;
    size_t from = 0;
    size_t changed_from = 0;
    const auto replacements = find_functions(changed);
    for (size_t i = 0; i < functions.size() && i < replacements.size(); ++i) {
        if (functions[i].name != replacements[i].name) break;
        text += source.substr(from, functions[i].begin - from);
        text += changed.substr(changed_from, replacements[i].end - changed_from);
        from = functions[i].end;
        changed_from = changed.find_first_not_of(" \t\n", replacements[i].end);
    }
    if (replacements.size() != functions.size() || changed_from != std::string::npos) {
        fail(Exit::kRunFailed,
             "{}: adds or removes something outside of the functions that it expects; what gated "
             "code calls belongs into the variant's helpers.h",
             patch.path.string());
    }
    return text + source.substr(from);
}

// The result of spatch on a text, by way of `file` and `result`.
std::string run_spatch(const SemanticPatch& patch, const std::string& text, const fs::path& file,
                       const fs::path& result) {
    fs::remove(result);
    write_file(file, text);
    const auto run = run_process({"spatch", "--very-quiet", "--no-includes", "--no-show-diff",
                                  "--sp-file", patch.path, file, "-o", result});
    if (run.status != 0 && !says_inapplicable(run.output)) {
        fail(Exit::kRunFailed, "{}: spatch stopped on {}; it said:\n{}", patch.path.string(),
             file.string(), last_lines(run.output, 15));
    }
    // spatch writes no file when nothing matched.
    return fs::exists(result) ? read_file(result) : text;
}

}  // namespace

PatchOutcome apply(const SemanticPatch& patch, const fs::path& input, const fs::path& output,
                   const std::string& gate_name) {
    const auto before = read_file(input);
    if (const auto missing = missing_function(patch, before); !missing.empty()) {
        PatchOutcome outcome;
        outcome.found = "no function " + missing;
        return outcome;
    }
    const auto functions = wanted_functions(patch, before);
    const auto seen = functions.empty() ? before : excerpt(before, functions);
    auto after = run_spatch(patch, seen, fs::path(output).replace_extension(".seen.c"), output);
    if (!functions.empty()) after = put_back(patch, before, functions, after);
    write_file(output, after);
    auto outcome = judge(patch, before, after, gate_name);
    outcome.result = output;
    return outcome;
}

}  // namespace fairswitch
